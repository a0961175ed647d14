/* json_report.c — the JSON report of a run.
 *
 * The file is valid JSON from the start of the program on: it is written when the program starts, after each new finding,
 * and when the program ends by exit() or by a signal. A signal handler may interrupt any code, so the writer allocates
 * nothing, and what it reads is only ever appended to.
 */
#define _GNU_SOURCE
#include "json_report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"
#include "engine/preempt.h"
#include "faults.h"
#include "include/cuda_runtime_api.h"
#include "json_writer.h"
#include "source.h"

enum { REPORT_VERSION = 1 };

/* simt-cc --report json defines it. */
extern const char simt_report_by_default[] __attribute__((weak));

static int file = -1;
static bool is_regular; /* a pipe or a device is written once, at the end */
static pid_t owner;     /* a child process of fork() leaves the file alone */
static char program[4096];

static enum { RUNNING, ENDED_BY_EXIT, ENDED_BY_SIGNAL } end;
static int end_number;

struct json_finding {
    struct reported_finding parts;
    _Atomic unsigned long count;
    struct json_finding *_Atomic next;
};

/* The launches of one kernel with one configuration. */
struct json_kernel {
    char *name;
    struct dim grid, block;
    uint64_t launches, failed;
    struct simt_counters counters;
    struct json_kernel *_Atomic next;
};

static struct json_finding *_Atomic findings, *last_finding;
static struct json_kernel *_Atomic kernels, *last_kernel;

bool json_report_wanted(void) {
    return file >= 0;
}

/* ---- the document ---- */

static const char *const kind_names[SIMT_FINDING_KINDS] = {
    [SIMT_OUT_OF_BOUNDS] = "out of bounds",
    [SIMT_MISALIGNED] = "misaligned",
    [SIMT_UNINITIALISED] = "uninitialised",
    [SIMT_HOST_POINTER] = "host pointer",
    [SIMT_INVALID_POINTER] = "invalid pointer",
    [SIMT_DEVICE_POINTER] = "device pointer",
    [SIMT_RACE] = "race",
    [SIMT_RACE_SAME_VALUE] = "race, same value",
    [SIMT_BARRIER_DIVERGENT] = "divergent barrier",
    [SIMT_BARRIER_EXITED] = "barrier after exit",
    [SIMT_DEADLOCK] = "deadlock",
    [SIMT_ABSENT_LANE] = "absent lane",
    [SIMT_STACK_OVERFLOW] = "stack overflow",
    [SIMT_LEAK] = "leak",
    [SIMT_ENDLESS] = "endless loop",
    [SIMT_ASSERT] = "assertion",
    [SIMT_LAUNCH] = "launch",
    [SIMT_ARITHMETIC] = "arithmetic",
    [SIMT_STREAM] = "stream",
    [SIMT_WAIT] = "wait",
    [SIMT_FOREIGN] = "foreign",
};

static void index3(struct json_writer *out, const char *name, bool known, struct dim index) {
    const unsigned coordinates[] = {index.x, index.y, index.z};
    simt_json_key(out, name);
    if (!known) {
        simt_json_raw(out, "null");
        return;
    }
    for (int i = 0; i < 3; i++) {
        simt_json_raw(out, i ? ", " : "[");
        simt_json_digits(out, coordinates[i]);
    }
    simt_json_raw(out, "]");
}

static void write_access(struct json_writer *out, const char *name, const struct reported_access *access) {
    simt_json_begin(out, name, '{');
    simt_json_string(out, "kind", access->kind);
    simt_json_string(out, "space", access->space);
    if (access->bytes) {
        simt_json_number(out, "bytes", access->bytes);
        simt_json_key(out, "address");
        simt_json_raw(out, "\"0x");
        simt_json_hex(out, access->address, 16);
        simt_json_raw(out, "\"");
    }
    simt_json_end(out, '}');
}

/* The other access of a race. */
static void write_other(struct json_writer *out, const struct reported_access *other) {
    simt_json_begin(out, "other", '{');
    simt_json_string(out, "kind", other->kind);
    simt_json_string_or_null(out, "file", other->file);
    simt_json_number(out, "line", (uint64_t)other->line);
    index3(out, "thread", other->has_thread, other->thread);
    index3(out, "block", other->has_thread, other->block);
    simt_json_end(out, '}');
}

static void write_finding(struct json_writer *out, const struct json_finding *finding) {
    const struct reported_finding *parts = &finding->parts;
    const char *line = parts->message;
    size_t length = strcspn(line, "\n");
    simt_json_begin(out, NULL, '{');
    simt_json_string(out, "kind", kind_names[parts->kind]);
    simt_json_string(out, "severity", parts->is_error ? "error" : "note");
    simt_json_key(out, "message");
    simt_json_characters(out, line, length);
    simt_json_begin(out, "details", '[');
    while (line[length] == '\n') {
        line += length + 1;
        length = strcspn(line, "\n");
        if (length == 0) continue;
        simt_json_separate(out, " ");
        simt_json_characters(out, line, length);
    }
    simt_json_end(out, ']');
    simt_json_string_or_null(out, "kernel", parts->kernel);
    simt_json_string_or_null(out, "function", parts->function);
    simt_json_string_or_null(out, "file", parts->file);
    simt_json_number(out, "line", (uint64_t)parts->line);
    index3(out, "thread", parts->has_thread, parts->thread);
    index3(out, "block", parts->has_thread, parts->block);
    if (parts->access.kind) write_access(out, "access", &parts->access);
    if (parts->other.kind) write_other(out, &parts->other);
    simt_json_number(out, "count", finding->count);
    simt_json_end(out, '}');
}

#define COUNTER(name) \
    { #name, offsetof(struct simt_counters, name) }
#define TRAFFIC(space, name) \
    { #name, offsetof(struct simt_counters, space.name) }

static const struct counter {
    const char *name;
    size_t offset;
} of_global[] = {TRAFFIC(global, load_requests),   TRAFFIC(global, load_sectors),   TRAFFIC(global, load_bytes),
                 TRAFFIC(global, store_requests),  TRAFFIC(global, store_sectors),  TRAFFIC(global, store_bytes),
                 TRAFFIC(global, atomic_requests), TRAFFIC(global, atomic_sectors), TRAFFIC(global, atomic_bytes)},
  of_shared[] = {TRAFFIC(shared, load_requests), TRAFFIC(shared, load_bytes),      TRAFFIC(shared, store_requests),
                 TRAFFIC(shared, store_bytes),   TRAFFIC(shared, atomic_requests), TRAFFIC(shared, atomic_bytes),
                 COUNTER(bank_conflicts)},
  of_all[] = {COUNTER(blocks),   COUNTER(warps), COUNTER(threads), COUNTER(barriers),           COUNTER(warp_syncs),
              COUNTER(shuffles), COUNTER(votes), COUNTER(reduces), COUNTER(divergent_requests), COUNTER(longest_chain)},
  of_copies[] = {COUNTER(bytes_to_device), COUNTER(bytes_to_host), COUNTER(bytes_on_device)};

#define WRITE_COUNTERS(out, counters, list) write_counters(out, counters, list, sizeof(list) / sizeof *(list))
static void write_counters(struct json_writer *out, const struct simt_counters *counters, const struct counter *list,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)counters + list[i].offset, sizeof value);
        simt_json_number(out, list[i].name, value);
    }
}

static void write_kernel(struct json_writer *out, const struct json_kernel *kernel) {
    simt_json_begin(out, NULL, '{');
    simt_json_string(out, "name", kernel->name);
    index3(out, "grid", true, kernel->grid);
    index3(out, "block", true, kernel->block);
    simt_json_number(out, "launches", kernel->launches);
    simt_json_number(out, "failed", kernel->failed);
    if (SIMT_CHECKED) {
        WRITE_COUNTERS(out, &kernel->counters, of_all);
        simt_json_begin(out, "global", '{');
        WRITE_COUNTERS(out, &kernel->counters, of_global);
        simt_json_end(out, '}');
        simt_json_begin(out, "shared", '{');
        WRITE_COUNTERS(out, &kernel->counters, of_shared);
        simt_json_end(out, '}');
    }
    simt_json_end(out, '}');
}

static const struct {
    int number;
    const char *name;
} deadly[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
              {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
              {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
              {SIGXCPU, "SIGXCPU"}};

static void write_end(struct json_writer *out) {
    simt_json_begin(out, "end", '{');
    simt_json_string(out, "how", end == RUNNING ? "running" : end == ENDED_BY_EXIT ? "exit" : "signal");
    if (end == ENDED_BY_EXIT) simt_json_number(out, "status", (uint64_t)(end_number & 0xff));
    for (size_t i = 0; end == ENDED_BY_SIGNAL && i < sizeof deadly / sizeof *deadly; i++)
        if (deadly[i].number == end_number) simt_json_string(out, "signal", deadly[i].name);
    simt_json_end(out, '}');
}

static void write_document(void) {
    struct json_writer writer = {.file = file, .seekable = is_regular, .first = true}, *out = &writer;
    simt_json_begin(out, NULL, '{');
    simt_json_raw(out, "\n  ");
    simt_json_number(out, "version", REPORT_VERSION);
    simt_json_string(out, "backend", SIMT_CHECKED ? "checked" : "fast");
    simt_json_string(out, "compiler", "g++ " __VERSION__);
    simt_json_number(out, "cuda", CUDART_VERSION);
    simt_json_number(out, "compute_capability", (uint64_t)simt_settings.compute_capability);
    simt_json_string(out, "order", simt_settings.shuffled_order ? "shuffled" : "canonical");
    simt_json_string(out, "program", program);
    write_end(out);
    simt_json_raw(out, ",\n  \"findings\": [");
    out->first = true;
    for (struct json_finding *finding = findings; finding; finding = finding->next) {
        simt_json_separate(out, "\n    ");
        write_finding(out, finding);
    }
    simt_json_raw(out, "],\n  \"kernels\": [");
    out->first = true;
    for (struct json_kernel *kernel = kernels; kernel; kernel = kernel->next) {
        simt_json_separate(out, "\n    ");
        write_kernel(out, kernel);
    }
    simt_json_raw(out, "]");
    if (SIMT_CHECKED) {
        struct simt_counters copies;
        counters_copies(&copies);
        simt_json_raw(out, ",\n  \"copies\": {");
        out->first = true;
        WRITE_COUNTERS(out, &copies, of_copies);
        simt_json_raw(out, "}");
    }
    simt_json_raw(out, "\n}\n");
    simt_json_flush(out);
    if (is_regular && ftruncate(file, out->written) != 0) return; /* nothing follows: the document only grows */
}

/* ---- when it is written ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t writing, interrupted; /* a thread writes; a deadly signal has come */
static __thread volatile sig_atomic_t mine;        /* this thread writes */

void json_report_write(void) {
    if (file < 0 || getpid() != owner || (!is_regular && end == RUNNING)) return;
    preempt_off++;
    pthread_mutex_lock(&lock);
    mine = writing = 1;
    if (!interrupted) write_document();
    mine = writing = 0;
    pthread_mutex_unlock(&lock);
    preempt_off--;
}

static void on_exit_write(int status, void *unused) {
    (void)unused;
    end = ENDED_BY_EXIT;
    end_number = status;
    json_report_write();
}

static void on_deadly_signal(int signal) {
    enum { PATIENCE = 1000 }; /* milliseconds, for another thread that writes */
    if (getpid() == owner) {
        interrupted = 1;
        for (int i = 0; i < PATIENCE && writing && !mine; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        end = ENDED_BY_SIGNAL;
        end_number = signal;
        write_document();
    }
    raise(signal); /* SA_RESETHAND: it ends the program */
}

static void catch_deadly_signals(void) {
    struct sigaction action = {.sa_handler = on_deadly_signal, .sa_flags = SA_RESETHAND | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction present;
        if (sigaction(deadly[i].number, NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(deadly[i].number, &action, NULL);
    }
    fault_prepare_thread(); /* a handler needs a stack when the program's own has overflowed */
}

/* SIMT_REPORT is json or json:FILE, or empty. */
__attribute__((constructor(102))) static void begin_report(void) {
    const char *wanted = getenv("SIMT_REPORT");
    char name[512];
    if (wanted == NULL) wanted = simt_report_by_default != NULL ? "json" : "";
    if (*wanted == '\0') return;
    if (strncmp(wanted, "json", 4) != 0 || (wanted[4] != '\0' && (wanted[4] != ':' || wanted[5] == '\0'))) {
        fprintf(stderr, "simt: SIMT_REPORT is '%s'; it can be json or json:FILE\n", wanted);
        return;
    }
    snprintf(name, sizeof name, "%s.report.json", program_invocation_short_name);
    const char *path = wanted[4] ? wanted + 5 : name;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        fprintf(stderr, "simt: cannot write the report to %s: %s\n", path, strerror(errno));
        return;
    }
    struct stat status;
    is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    owner = getpid();
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) snprintf(program, sizeof program, "%s", program_invocation_name);
    on_exit(on_exit_write, NULL);
    catch_deadly_signals();
    json_report_write();
}

/* ---- what it contains ---- */

struct json_finding *json_finding_new(const struct reported_finding *parts) {
    if (file < 0) return NULL;
    struct json_finding *finding = calloc(1, sizeof *finding);
    if (finding == NULL) return NULL;
    finding->parts = *parts;
    finding->count = 1;
    finding->parts.message = strdup(parts->message);
    finding->parts.kernel = strdup(parts->kernel);
    if (finding->parts.message && finding->parts.kernel) return finding;
    json_finding_free(finding);
    return NULL;
}

void json_finding_free(struct json_finding *finding) {
    if (finding == NULL) return;
    free((char *)finding->parts.message);
    free((char *)finding->parts.kernel);
    free(finding);
}

void json_finding_add(struct json_finding *finding) {
    if (finding == NULL) return;
    if (last_finding)
        last_finding->next = finding;
    else
        findings = finding;
    last_finding = finding;
}

void json_finding_repeat(struct json_finding *finding) {
    if (finding) finding->count++;
}

static bool dim_equal(struct dim a, struct dim b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

void json_report_launch(const struct simt_launch *launch) {
    char name[1024];
    struct json_kernel *kernel;
    if (file < 0) return;
    source_pretty(launch->kernel, name, sizeof name);
    for (kernel = kernels; kernel; kernel = kernel->next)
        if (dim_equal(kernel->grid, launch->grid) && dim_equal(kernel->block, launch->block) &&
            strcmp(kernel->name, name) == 0)
            break;
    if (kernel == NULL) {
        kernel = calloc(1, sizeof *kernel);
        if (kernel == NULL) return;
        *kernel = (struct json_kernel){.name = strdup(name), .grid = launch->grid, .block = launch->block};
        if (kernel->name == NULL) {
            free(kernel);
            return;
        }
        if (last_kernel)
            last_kernel->next = kernel;
        else
            kernels = kernel;
        last_kernel = kernel;
    }
    kernel->launches++;
    kernel->failed += launch->error != 0;
    counters_add(&kernel->counters, &launch->counters);
    if (end != RUNNING) json_report_write(); /* a destructor has launched it */
}

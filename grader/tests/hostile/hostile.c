/* hostile.c — what untrusted code may try, one mode a threat of the grader. The mode is the first argument or, when a
 * runner is started without arguments, the name under which this program was linked.
 *
 * Modes that probe the sandbox print one line per attempt, "what: result", for the tests to read.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/runner/protocol.h"

static const char *mode_of(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    return argc > 1 ? argv[1] : slash ? slash + 1 : argv[0];
}

/* ---- endings ---- */

__attribute__((constructor)) static void before_main(int argc, char **argv) {
    if (strcmp(mode_of(argc, argv), "constructor") == 0) { _exit(0); }
}

static int *volatile nowhere;
static void mode_crash(void) {
    *nowhere = 1;
}
static void mode_abort(void) {
    abort();
}
static void mode_exit0(void) {
    exit(0);
}
static void mode_hang(void) {
    for (;;) { pause(); }
}
static void mode_spin(void) {
    for (volatile unsigned long i = 0;; i++) {}
}
static void mode_deaf(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    mode_hang();
}

static void mode_flood(void) {
    char line[4096];
    memset(line, 'x', sizeof line);
    while (write(1, line, sizeof line) > 0) {}
    mode_hang();
}

static void mode_memory(void) {
    for (size_t piece = 16 << 20;;) {
        char *p = malloc(piece);
        if (!p) { mode_hang(); }
        memset(p, 1, piece);
    }
}

static void mode_forks(void) {
    int made = 0;
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) { mode_hang(); }
        made += pid > 0;
    }
    printf("forks: %d\n", made);
    fflush(stdout);
    close(3);
    mode_hang();
}

static void mode_close(void) {
    close(3);
    mode_hang();
}

/* ---- lies ---- */

static struct job job;
static struct result result;

static void read_all(void *data, size_t bytes) {
    for (char *p = data; bytes > 0;) {
        ssize_t n = read(3, p, bytes);
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}

static void say(const void *data, size_t bytes) {
    for (const char *p = data; bytes > 0;) {
        ssize_t n = write(3, p, bytes);
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}

static float *buffers[OP_MAX_TENSORS];
static size_t sizes[OP_MAX_TENSORS];

static void read_job(void) {
    read_all(&job, sizeof job);
    if (job.kind == JOB_QUIT) { _exit(0); }
    const struct op *op = op_find(job.op);
    for (int i = 0; op && i < op->tensor_count && job.kind == JOB_CALL; i++) {
        size_t elements = (size_t)job.offset + op_elements(op, i, &job.sizes);
        bool sent = job.alias_of[i] < 0 && op_is_given(op, i, &job.sizes);
        sizes[i] = sent ? 2 * (size_t)job.guard + elements * op_element_bytes(op, i, job.sizes.type) : 0;
        buffers[i] = realloc(buffers[i], sizes[i] + 1);
        read_all(buffers[i], sizes[i]);
    }
    memset(&result, 0, sizeof result);
    result.magic = PROTOCOL_MAGIC;
    result.version = PROTOCOL_VERSION;
    result.nonce = job.nonce;
    result.returned = 1;
}

static void answer(void) {
    say(&result, sizeof result);
    for (int i = 0; i < OP_MAX_TENSORS && result.returned; i++) {
        if (buffers[i]) { say(buffers[i], sizes[i]); }
    }
}

/* A runner that plays by the rules: tensor 0 becomes a copy of tensor 1. */
static void mode_honest(void) {
    for (;;) {
        read_job();
        if (sizes[0] == sizes[1]) { memcpy(buffers[0], buffers[1], sizes[0]); }
        answer();
    }
}

static void mode_sticky(void) {
    read_job();
    result.error = 700;
    result.sticky = 1;
    result.returned = 0;
    answer();
    mode_hang();
}

static void mode_garbage(void) {
    char noise[sizeof result];
    memset(noise, 'g', sizeof noise);
    say(noise, sizeof noise);
    mode_hang();
}

static void mode_forged(void) {
    read_job();
    result.nonce ^= 1;
    answer();
    mode_hang();
}
static void mode_early(void) {
    /* A perfect result, sent before the job is known. */
    result = (struct result){.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .returned = 1};
    say(&result, sizeof result);
    read_job();
    mode_hang();
}
static void mode_huge(void) {
    read_job();
    result.finding_count = 1 << 30;
    answer();
    mode_hang();
}
static void mode_negative(void) {
    read_job();
    result.finding_count = -1;
    answer();
    mode_hang();
}
static void mode_short(void) {
    read_job();
    say(&result, sizeof result / 2);
    _exit(0);
}
static void mode_trickle(void) {
    read_job();
    for (const char *p = (const char *)&result;; p++) {
        say(p, 1);
        usleep(20000);
    }
}

/* Findings without an end to their strings. */
static void mode_unterminated(void) {
    struct finding_record record;
    read_job();
    result.finding_count = 2;
    answer();
    memset(&record, 'f', sizeof record);
    say(&record, sizeof record);
    say(&record, sizeof record);
    mode_hang();
}

/* A timing dialogue with a time of its own choosing. */
static void timing(double us) {
    static float rows[1 << 16];
    read_job();
    result.launches = 100;
    result.copy_launches = 100;
    result.sets = 100;
    result.uses_graph = 1;
    answer();
    for (;;) {
        struct time_request request;
        read_all(&request, sizeof request);
        struct time_reply reply = {PROTOCOL_MAGIC, 0, request.nonce, us};
        if (request.action == TIME_OP || request.action == TIME_COPY) { usleep(100 * 100); }
        say(&reply, sizeof reply);
        if (request.action == TIME_SAMPLE) {
            say(rows, (size_t)request.row_count * (size_t)job.sizes.C * sizeof *rows);
        }
    }
}
static void mode_time_right(void) {
    timing(100);
}
static void mode_time_zero(void) {
    timing(0);
}
static void mode_time_short(void) {
    timing(1);
}
static void mode_time_nan(void) {
    timing(0.0 / 0.0);
}
static void mode_no_launches(void) {
    read_job();
    answer();
    mode_hang();
}

/* ---- probes of the sandbox ---- */

static void tell(const char *what, long outcome) {
    printf("%s: %s\n", what, outcome >= 0 ? "worked" : strerrorname_np(errno));
}

static void mode_probe(void) {
    pid_t parent = getppid();
    char path[64];
    tell("socket", socket(AF_INET, SOCK_STREAM, 0));
    tell("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("create", open("/tmp/hostile-was-here", O_WRONLY | O_CREAT, 0600));
    tell("mkdir", mkdir("/tmp/hostile-folder", 0700));
    tell("unlink", unlink("/tmp/hostile-target"));
    tell("overwrite", open("/tmp/hostile-target", O_WRONLY | O_TRUNC));
    tell("read", open("/proc/self/exe", O_RDONLY));
    snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
    tell("parent's memory", open(path, O_RDWR));
    tell("kill", kill(parent, SIGUSR1));
    tell("kill group", kill(0, SIGUSR1));
    tell("ptrace", ptrace(PTRACE_ATTACH, parent, NULL, NULL));
    tell("limits", syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, &(struct rlimit){10, 10}, NULL));
    tell("fork", fork());
    tell("session", setsid());
    tell("exec", execl("/bin/true", "true", (char *)NULL));
    tell("raise", raise(0));
    printf("user: %d\n", (int)getuid());
    printf("parent: %d\n", (int)parent);
    exit(0);
}

static void mode_descriptors(void) {
    for (int i = 0; i < 200; i++) {
        if (fcntl(i, F_GETFD) >= 0) { printf("%d ", i); }
    }
    printf("| %s | %s\n", getenv("SECRET") ? "leaked" : "no secret", getenv("GIVEN") ? getenv("GIVEN") : "none");
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"crash", mode_crash},
    {"abort", mode_abort},
    {"exit0", mode_exit0},
    {"hang", mode_hang},
    {"spin", mode_spin},
    {"deaf", mode_deaf},
    {"flood", mode_flood},
    {"memory", mode_memory},
    {"forks", mode_forks},
    {"close", mode_close},
    {"honest", mode_honest},
    {"sticky", mode_sticky},
    {"garbage", mode_garbage},
    {"forged", mode_forged},
    {"early", mode_early},
    {"huge", mode_huge},
    {"negative", mode_negative},
    {"short", mode_short},
    {"trickle", mode_trickle},
    {"unterminated", mode_unterminated},
    {"time_right", mode_time_right},
    {"time_sampled", mode_time_right},
    {"time_zero", mode_time_zero},
    {"time_short", mode_time_short},
    {"time_nan", mode_time_nan},
    {"no_launches", mode_no_launches},
    {"probe", mode_probe},
    {"descriptors", mode_descriptors},
};

int main(int argc, char **argv) {
    const char *mode = mode_of(argc, argv);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) == 0) { modes[i].run(); }
    }
    fprintf(stderr, "hostile: no mode %s\n", mode);
    return 99;
}

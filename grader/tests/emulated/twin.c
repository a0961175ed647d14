/* twin.c — the grader, with each job run twice: by the ordinary runner, and by the same lab's runner for 64-bit ARM under
 * qemu-user (tools/emulate). The grader judges ARM's answer, so the marks that it shows are ARM's.
 *
 * All that does not depend on rounding must be the same in both answers: the counters, the traffic of each tensor, the
 * branches of a traced program, errors, and the kind, line and first sentence of each finding. Linked with the grader's
 * objects and --wrap for the functions below. The emulated runner is not in the sandbox, because qemu needs system calls
 * that it refuses.
 *
 * TWIN_FROM and TWIN_TO name the folders of the ordinary runners and of those for ARM. A summary of the run is appended to the
 * file that TWIN_LOG names: the jobs compared, those that differ, the outputs that have equal bits, the jobs with findings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grader/job.h"

enum { MOST_RUNNERS = 512, VARIABLES = 8 };

static struct runner twins[MOST_RUNNERS];
static const struct runner *owners[MOST_RUNNERS]; /* NULL: free */
static bool emulates;                             /* the next child is an emulated one */
static unsigned compared, different, outputs, equal_outputs, with_findings;

unsigned __real_sandbox_enter(const struct sandbox *sandbox);
unsigned __wrap_sandbox_enter(const struct sandbox *sandbox);
unsigned __wrap_sandbox_enter(const struct sandbox *sandbox) {
    return emulates ? 0 : __real_sandbox_enter(sandbox);
}

int __real_execveat(int descriptor, const char *path, char *const *arguments, char *const *environment, int flags);
int __wrap_execveat(int descriptor, const char *path, char *const *arguments, char *const *environment, int flags);
int __wrap_execveat(int descriptor, const char *path, char *const *arguments, char *const *environment, int flags) {
    if (!emulates) { return __real_execveat(descriptor, path, arguments, environment, flags); }
    char *const emulated[] = {"tools/emulate", arguments[0], NULL};
    return execve(emulated[0], emulated, environment);
}

static void summary(void) {
    FILE *log = getenv("TWIN_LOG") ? fopen(getenv("TWIN_LOG"), "a") : NULL;
    if (log == NULL) { return; }
    fprintf(log, "%u %u %u %u %u\n", compared, different, outputs, equal_outputs, with_findings);
    fclose(log);
}

/* A new process has a new twin. */
static void forget(const struct runner *runner) {
    for (int i = 0; i < MOST_RUNNERS; i++) {
        if (owners[i] != runner) { continue; }
        runner_stop(&twins[i]);
        owners[i] = NULL;
    }
}

/* One OS thread: with more, the blocks that have started when a launch fails vary, and so do the counters. */
enum child_status __real_runner_start(struct runner *runner, const char *path, const struct limits *limits);
enum child_status __wrap_runner_start(struct runner *runner, const char *path, const struct limits *limits);
enum child_status __wrap_runner_start(struct runner *runner, const char *path, const struct limits *limits) {
    static const char *environment[MOST_RUNNERS * VARIABLES]; /* stays for restarts */
    static int used;
    struct limits own = *limits;
    forget(runner);
    own.environment = &environment[used];
    for (const char *const *given = limits->environment; given && *given; given++) { environment[used++] = *given; }
    environment[used++] = "SIMT_THREADS=1";
    environment[used++] = NULL;
    if (used > (MOST_RUNNERS - 1) * VARIABLES) { abort(); }
    return __real_runner_start(runner, path, &own);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value != NULL) { return value; }
    fprintf(stderr, "twin: set %s\n", name);
    exit(2);
}

/* The emulated runner of the same program. */
static struct runner *twin_of(const struct runner *runner) {
    const char *path = runner->path, *from = variable("TWIN_FROM"), *to = variable("TWIN_TO");
    char emulated[sizeof twins->path];
    if (strncmp(path, from, strlen(from)) != 0 ||
        snprintf(emulated, sizeof emulated, "%s%s", to, path + strlen(from)) >= (int)sizeof emulated) {
        fprintf(stderr, "twin: %s is not in %s\n", path, from);
        exit(2);
    }
    struct limits limits = runner->limits;
    limits.call_seconds *= 30;
    if (compared == 0) { atexit(summary); }
    int at = 0;
    while (at < MOST_RUNNERS && owners[at] != runner) { at++; }
    if (at < MOST_RUNNERS) { return &twins[at]; }
    for (at = 0; at < MOST_RUNNERS && owners[at]; at++) {}
    if (at == MOST_RUNNERS) { abort(); }
    owners[at] = runner;
    emulates = true;
    __real_runner_start(&twins[at], emulated, &limits);
    emulates = false;
    return &twins[at];
}

static size_t first_line(const char *text) {
    return strcspn(text, "\n");
}

static const char *finding_difference(const struct finding_record *a, const struct finding_record *b) {
    size_t length = first_line(a->text);
    if (a->kind != b->kind) { return "a finding's kind"; }
    if (a->is_error != b->is_error) { return "a finding's severity"; }
    if (a->line != b->line) { return "a finding's line"; }
    if (strcmp(a->kernel, b->kernel) != 0) { return "a finding's kernel"; }
    if (length != first_line(b->text) || strncmp(a->text, b->text, length) != 0) {
        fprintf(stderr, "twin: %s\ntwin: %s\n", a->text, b->text);
        return "a finding's text";
    }
    return NULL;
}

/* The depth that a recursion reaches depends on the size of its frames. */
static bool overflows(const struct result *result, const struct finding_record *found) {
    bool any = false;
    for (int i = 0; i < result->finding_count; i++) { any |= found[i].kind == SIMT_STACK_OVERFLOW; }
    return any;
}

/* What the answers differ in; NULL: nothing. */
static const char *difference(const struct result *a, const struct result *b, const struct finding_record *found_a,
                              const struct finding_record *found_b) {
    if (a->missing != b->missing || a->status != b->status) { return "the launcher's status"; }
    if (a->error != b->error || a->sticky != b->sticky || a->returned != b->returned) { return "the error"; }
    bool counted = !overflows(a, found_a);
    if (counted && memcmp(&a->counters, &b->counters, sizeof a->counters) != 0) { return "the counters"; }
    if (counted && memcmp(a->traffic, b->traffic, sizeof a->traffic) != 0) { return "the traffic of a tensor"; }
    if (a->block_events != b->block_events || a->atom_count != b->atom_count ||
        a->comparison_count != b->comparison_count) {
        return "the branches";
    }
    if (a->finding_count != b->finding_count) { return "the number of findings"; }
    for (int i = 0; i < a->finding_count; i++) {
        const char *which = finding_difference(&found_a[i], &found_b[i]);
        if (which) { return which; }
    }
    return NULL;
}

static void note(const struct runner *twin, const struct job *job, const char *what) {
    different++;
    fprintf(stderr, "twin: %s, %s, %d x %d: %s differ\n", twin->path, job->op, job->sizes.N, job->sizes.C, what);
}

enum child_status __real_runner_call(struct runner *runner, const struct job *job, void *const buffers[],
                                     struct result *result, struct finding_record **findings);
enum child_status __wrap_runner_call(struct runner *runner, const struct job *job, void *const buffers[],
                                     struct result *result, struct finding_record **findings);
enum child_status __wrap_runner_call(struct runner *runner, const struct job *job, void *const buffers[],
                                     struct result *result, struct finding_record **findings) {
    if (job->huge) {
        return __real_runner_call(runner, job, buffers, result, findings);
    } /* qemu keeps a list of pages */
    const struct op *op = op_find(job->op);
    struct runner *twin = twin_of(runner);
    size_t bytes[OP_MAX_TENSORS] = {0};
    void *ordinary[OP_MAX_TENSORS] = {NULL};
    for (int i = 0; i < op_tensor_count(op); i++) {
        bytes[i] = job_buffer_bytes(job, op, i);
        if (bytes[i] == 0) { continue; }
        if ((ordinary[i] = malloc(bytes[i])) == NULL) { abort(); }
        memcpy(ordinary[i], buffers[i], bytes[i]);
    }
    struct result expected;
    struct finding_record *found = NULL, *expected_found = NULL;
    enum child_status expected_status = __real_runner_call(runner, job, ordinary, &expected, &expected_found);
    emulates = true;
    enum child_status status = __real_runner_call(twin, job, buffers, result, &found);
    emulates = false;
    compared++;
    with_findings += expected.finding_count > 0;
    const char *what =
        expected_status != status ? "the ends of the process" : difference(&expected, result, expected_found, found);
    if (what) { note(twin, job, what); }
    if (what && expected_status != status) { fprintf(stderr, "twin: %s\n", twin->child.message); }
    for (int i = 0; i < op_tensor_count(op); i++) {
        if (status == CHILD_OK && result->returned && bytes[i] > 0) {
            outputs++;
            equal_outputs += memcmp(ordinary[i], buffers[i], bytes[i]) == 0;
        }
        free(ordinary[i]);
    }
    free(expected_found);
    if (findings) {
        *findings = found;
    } else {
        free(found);
    }
    return status;
}

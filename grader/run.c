#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "huge.h"
#include "lab.h"
#include "progress.h"

/* ---- a program as a device ---- */

struct running {
    struct runner runner;
    struct process *process;
};

static enum child_status call_runner(void *context, const struct job *job, void *const buffers[], struct result *result,
                                     struct finding_record **findings) {
    struct running *running = context;
    struct process *process = running->process;
    enum child_status status = runner_call(&running->runner, job, buffers, result, findings);
    if (status == CHILD_OK && !process->device[0]) {
        snprintf(process->device, sizeof process->device, "%.127s", result->device);
    }
    return status;
}

static const char *runner_message(void *context) {
    return ((struct running *)context)->runner.child.message;
}

static const char *const quiet[] = {"SIMT_QUIET=1", NULL}; /* findings arrive as records */
static const char *const quiet_small[] = {"SIMT_QUIET=1", "SIMT_SMALL_DEVICE=1", NULL};
static const char *const for_huge[] = {"SIMT_QUIET=1",  "SIMT_THREADS=1", "SIMT_BLOCKS=16",
                                       "SIMT_SPREAD=1", "TRACE_LINES=1",  NULL};
static const char *const for_lines[] = {"SIMT_QUIET=1", "SIMT_THREADS=1", "TRACE_LINES=1", NULL};
static const char *const for_host_lines[] = {"SIMT_QUIET=1", "SIMT_THREADS=1", "SIMT_BLOCKS=4", "TRACE_LINES=1", NULL};
static const char *const for_tracing_small[] = {"SIMT_QUIET=1", "SIMT_THREADS=1", "SIMT_BLOCKS=4",
                                                "SIMT_SMALL_DEVICE=1", NULL};
static const char *const for_tracing[] = {"SIMT_QUIET=1", "SIMT_THREADS=1", "SIMT_BLOCKS=4", NULL};

/* False: process->fault says why it cannot be started. */
static bool start(struct running *running, const char *program, bool gpu, const char *const *environment,
                  struct process *process) {
    struct limits limits = limits_default;
    limits.gpu = gpu;
    limits.environment = environment;
    limits.waiting = progress_tick;
    running->process = process;
    if (runner_start(&running->runner, program, &limits) != CHILD_CANNOT_START) { return true; }
    snprintf(process->fault, sizeof process->fault, "%s", running->runner.child.message);
    return false;
}

static void stop(struct running *running) {
    struct process *process = running->process;
    const struct child *child = &running->runner.child;
    if (!process->printed[0]) {
        snprintf(process->printed, sizeof process->printed, "%.2047s", child->output);
        clean_text(process->printed);
    }
    sandbox_describe(child->layers, process->sandbox, sizeof process->sandbox);
    runner_stop(&running->runner);
}

static struct device device_of(struct running *running, bool gpu) {
    return (struct device){
        .call = call_runner, .message = runner_message, .context = running, .guard = gpu ? GPU_GUARD_BYTES : 0};
}

/* ---- correctness ---- */

static struct checks run(const struct task *task, const char *program, bool gpu, int most) {
    const struct exercise *exercise = task->exercise;
    struct checks checks = {.count = 0};
    struct running running;
    enum verdict verdict = VERDICT_PASS;
    evidence_init(&checks.evidence, op_find(exercise->op), exercise->type);
    if (!start(&running, program, gpu, quiet, &checks.process)) { return checks; }
    struct device device = device_of(&running, gpu);
    while (verdict == VERDICT_PASS && checks.count < most) {
        int i = checks.count++;
        progress_doing(check_name(exercise->checks[i].kind));
        verdict = check_run(&device, exercise->checks[i].kind, PUBLISHED_SEED, task->request->seed, &checks.evidence,
                            &checks.failure[i]);
        checks.verdict[i] = verdict;
    }
    stop(&running);
    return checks;
}

struct checks run_checks(const struct task *task) {
    return run(task, task->program, task->gpu, CORRECTNESS_CHECKS);
}

struct checks run_confirmation(const struct task *task, int most) {
    if (!task->gpu || !task->can_count || !task->counted) { return (struct checks){.count = 0}; }
    return run(task, task->counted, false, most);
}

/* ---- one case ---- */

static struct checks run_one(const struct task *task, const char *program, bool gpu, const struct test_case *test) {
    struct checks checks = {.count = 0};
    struct running running;
    evidence_init(&checks.evidence, op_find(task->exercise->op), task->exercise->type);
    progress_doing(check_name(CHECK_CASE));
    const char *const *environment = test->huge ? for_huge : test->small ? quiet_small : quiet;
    if (!start(&running, program, gpu, environment, &checks.process)) { return checks; }
    struct device device = device_of(&running, gpu);
    device.small = test->small && !gpu ? &device : NULL;
    device.huge = test->huge ? &device : NULL;
    checks.verdict[checks.count++] = check_again(&device, test, &checks.evidence, &checks.failure[0]);
    stop(&running);
    return checks;
}

struct checks run_case(const struct task *task, const struct test_case *test) {
    if (test->huge) { return task->traced ? run_one(task, task->traced, false, test) : (struct checks){.count = 0}; }
    return run_one(task, task->program, task->gpu, test);
}

struct checks run_case_confirmation(const struct task *task, const struct test_case *test) {
    if (!task->gpu || !task->can_count || !task->counted || test->huge) { return (struct checks){.count = 0}; }
    return run_one(task, task->counted, false, test);
}

/* ---- the submission's own branches ---- */

/* Every case is called as it is. False: a call has no answer. */
static bool trace_everything(const struct device *device, const struct task *task, const struct exploration *found) {
    static struct test_case cases[EVIDENCE_MAX_CASES];
    const struct exercise *exercise = task->exercise;
    const struct op *op = op_find(exercise->op);
    struct result result;
    bool answers = true;
    progress_doing("lines that have not run");
    for (int i = 0; i < CORRECTNESS_CHECKS; i++) {
        int count = cases_of(op, exercise->type, exercise->checks[i].kind, PUBLISHED_SEED, task->request->seed, cases,
                             EVIDENCE_MAX_CASES);
        for (int k = 0; k < count && answers; k++) { answers = check_only_call(device, op, &cases[k], &result); }
    }
    for (int i = 0; i < found->case_count && answers; i++) {
        answers =
            found->cases[i].small || found->cases[i].huge || check_only_call(device, op, &found->cases[i], &result);
    }
    return answers;
}

/* `explored`: the program that was explored. If some lines did not run in it, all cases are traced once more; with all their
 * blocks, if some of these lines are a kernel's. */
static void find_not_run(const struct task *task, struct runner *explored, struct runner *small,
                         const struct source *source, struct exploration *found) {
    struct line_record *lines, *again = NULL, *on_small = NULL;
    struct process ignored = {.fault = ""};
    struct running running;
    int count = runner_lines(explored, &lines), again_count, small_count = small ? runner_lines(small, &on_small) : 0;
    if (small_count < 0) { count = -1; }
    not_run_merge(lines, count, on_small, small_count);
    free(on_small);
    if (count >= 0) { not_run_of(lines, count, source, &found->not_run); }
    if (found->not_run.count > 0) {
        bool in_kernel = not_run_in_kernel(lines, count, source);
        found->not_run = (struct not_run){.is_known = false};
        if (start(&running, task->traced, false, in_kernel ? for_lines : for_host_lines, &ignored)) {
            struct device device = device_of(&running, false);
            again_count = trace_everything(&device, task, found) ? runner_lines(&running.runner, &again) : -1;
            not_run_merge(lines, count, again, again_count);
            if (again_count >= 0) { not_run_of(lines, count, source, &found->not_run); }
            stop(&running);
        }
    }
    free(lines);
    free(again);
}

void run_exploration(const struct task *task, struct exploration *found) {
    const struct exercise *exercise = task->exercise;
    struct process ignored = {.fault = ""};
    struct running running;
    struct trace *trace = malloc(sizeof *trace);
    struct source source;
    source_read(task->request->files, exercise, &source);
    memset(found, 0, sizeof *found);
    progress_doing("search for the branches");
    if (trace && task->traced && start(&running, task->traced, false, for_tracing, &ignored)) {
        struct running small;
        bool is_small = source.asks_device && start(&small, task->traced, false, for_tracing_small, &ignored);
        struct device device = device_of(&running, false), small_device = device_of(&small, false);
        device.small = is_small ? &small_device : NULL;
        running.runner.trace = small.runner.trace = trace;
        explore(&device, trace, op_find(exercise->op), exercise->type, &source, task->request->seed, found);
        if (found->probes > 0) { find_not_run(task, &running.runner, is_small ? &small.runner : NULL, &source, found); }
        if (is_small) { stop(&small); }
        stop(&running);
        if (found->case_count + HUGE_CASES <= EXPLORE_MAX_CASES) {
            found->case_count += huge_cases(op_find(exercise->op), exercise->type, &found->cases[found->case_count]);
        }
    }
    free(trace);
}

static bool has_small(const struct exploration *found) {
    for (int i = 0; i < found->case_count; i++) {
        if (found->cases[i].small) { return true; }
    }
    return false;
}

static void explored(const struct task *task, const char *program, bool gpu, const struct exploration *found,
                     struct checks *checks) {
    struct process ignored = {.fault = ""};
    struct running running, small, traced;
    int last = CORRECTNESS_CHECKS - 1;
    if (found->case_count == 0 || !start(&running, program, gpu, quiet, &checks->process)) { return; }
    bool is_small = !gpu && has_small(found) && start(&small, program, gpu, quiet_small, &checks->process);
    bool is_traced = start(&traced, task->traced, false, for_huge, &ignored);
    struct device device = device_of(&running, gpu), small_device = device_of(&small, gpu),
                  traced_device = device_of(&traced, false);
    device.small = is_small ? &small_device : NULL;
    device.huge = is_traced ? &traced_device : NULL;
    progress_doing("branches");
    checks->verdict[last] =
        check_cases(&device, found->cases, found->case_count, &checks->evidence, &checks->failure[last]);
    stop(&running);
    if (is_small) { stop(&small); }
    if (is_traced) { stop(&traced); }
}

void run_explored(const struct task *task, const struct exploration *found, struct checks *checks) {
    explored(task, task->program, task->gpu, found, checks);
}

void run_explored_confirmation(const struct task *task, const struct exploration *found, struct checks *checks) {
    if (checks->count == CORRECTNESS_CHECKS) { explored(task, task->counted, false, found, checks); }
}

/* ---- performance ---- */

static bool has_counted_check(const struct exercise *exercise) {
    for (const struct check *check = exercise->checks; check->kind; check++) {
        if (check_is_counted(check->kind)) { return true; }
    }
    return false;
}

static void count(const struct task *task, struct performance *performance) {
    const struct exercise *exercise = task->exercise;
    struct running running;
    performance->is_counted = true;
    progress_doing(check_name(CHECK_TRAFFIC));
    if (!task->counted) {
        performance->failure.kind = FAILURE_BUILD;
        snprintf(performance->failure.text, sizeof performance->failure.text,
                 "%s does not build for the CPU backend, which counts the traffic", exercise->file);
        return;
    }
    if (!start(&running, task->counted, false, quiet, &performance->process)) { return; }
    struct device device = device_of(&running, false);
    evidence_init(&performance->evidence, op_find(exercise->op), exercise->type);
    check_count(&device, &exercise->traffic.sizes, PUBLISHED_SEED, &performance->evidence, &performance->counted,
                &performance->failure);
    stop(&running);
}

struct performance run_performance(const struct task *task) {
    const struct exercise *exercise = task->exercise;
    struct performance performance = {.is_counted = false};
    struct running running;
    bool measures = task->gpu && task->shows_figures;
    if (has_counted_check(exercise) && task->can_count) { count(task, &performance); }
    if (measures && exercise_check(exercise, CHECK_BAND) &&
        start(&running, task->program, true, quiet, &performance.process)) {
        progress_doing(check_name(CHECK_BAND));
        running.runner.limits.waiting = running.runner.child.limits.waiting = NULL; /* these waits are timed */
        performance.timing = timed_measure(&running.runner, exercise);
        stop(&running);
    }
    if (measures && exercise_check(exercise, CHECK_RATE)) {
        progress_doing(check_name(CHECK_RATE));
        performance.rates = rate_run(task->request, exercise);
    }
    return performance;
}

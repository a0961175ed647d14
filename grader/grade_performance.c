/* grade_performance.c — runners as devices, and the figures of an exercise that is right. */
#include <stdio.h>
#include <string.h>

#include "diagnose.h"
#include "grading.h"
#include "lab.h"
#include "rate.h"
#include "score.h"
#include "timed.h"

bool grading_fault(struct grading *grading, const char *message) {
    snprintf(grading->error, grading->error_size, "%s", message);
    return false;
}

const struct build_file *grading_file(const struct build_report *build, const struct exercise *exercise) {
    char name[BUILD_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(exercise->file, "."), exercise->file);
    return build_find(build, name);
}

/* ---- a runner as a device ---- */

static enum child_status call_runner(void *context, const struct job *job, void *const buffers[], struct result *result,
                                     struct finding_record **findings) {
    struct grading *grading = context;
    enum child_status status = runner_call(grading->running, job, buffers, result, findings);
    if (status == CHILD_OK && !grading->report->device[0]) { /* not the CPU build that counts for a GPU */
        snprintf(grading->report->device, sizeof grading->report->device, "%.127s", result->device);
    }
    return status;
}

static const char *runner_message(void *context) {
    return ((struct grading *)context)->running->child.message;
}

bool grading_open(struct grading *grading, const struct build_file *file, bool gpu, struct runner *runner,
                  struct device *device) {
    static const char *const environment[] = {"SIMT_QUIET=1", NULL}; /* findings arrive as records */
    struct limits limits = limits_default;
    limits.gpu = gpu;
    limits.environment = environment;
    if (runner_start(runner, file->runner, &limits) == CHILD_CANNOT_START) {
        return grading_fault(grading, runner->child.message);
    }
    grading->running = runner;
    *device = (struct device){call_runner, runner_message, grading, gpu ? GPU_GUARD_BYTES : 0};
    return true;
}

void grading_close(struct grading *grading, struct runner *runner) {
    struct report *report = grading->report;
    if (!report->printed[0] && runner->child.output_length) {
        snprintf(report->printed, sizeof report->printed, "%.2047s", runner->child.output);
    }
    sandbox_describe(runner->child.layers, report->sandbox, sizeof report->sandbox);
    runner_stop(runner);
}

/* ---- outcomes ---- */

void grading_explain(struct failure *failure, const struct evidence *evidence) {
    const struct op_mistake *mistake = diagnose(evidence);
    if (!mistake) { return; }
    failure->diagnosis = mistake->id;
    failure->cause = mistake->cause;
    failure->hint = mistake->hint;
}

struct outcome *grading_add(struct grading *grading, const struct exercise *exercise, const struct check *check) {
    struct outcome *outcome = &grading->report->outcomes[grading->report->outcome_count++];
    *outcome = (struct outcome){.exercise = exercise, .check = check};
    return outcome;
}

/* ---- performance: only of what is right ---- */

static void score_counted(struct outcome *outcome, const struct result *result, const struct failure *failure,
                          bool is_first) {
    if (failure->kind != FAILURE_NONE && is_first) {
        outcome->verdict = VERDICT_FAIL;
        outcome->failure = *failure;
    } else if (failure->kind != FAILURE_NONE) {
        outcome->verdict = VERDICT_NOT_RUN;
    } else if (outcome->check->kind == CHECK_TRAFFIC) {
        score_traffic(outcome, result);
    } else if (outcome->check->kind == CHECK_LAUNCHES) {
        score_launches(outcome, result);
    } else {
        score_parallel(outcome, result);
    }
}

/* One counted call on the CPU build gives traffic and parallelism. */
static bool count(struct grading *grading, const struct exercise *exercise, struct result *result,
                  struct failure *failure) {
    struct runner runner;
    struct device device;
    const struct build_file *file = grading_file(&grading->counted, exercise);
    *failure = (struct failure){.kind = FAILURE_BUILD};
    if (!file || !file->built) {
        snprintf(failure->text, sizeof failure->text, "%s does not build for the CPU backend, which counts the traffic",
                 exercise->file);
        return true;
    }
    if (!grading_open(grading, file, false, &runner, &device)) { return false; }
    struct evidence evidence;
    evidence_init(&evidence, op_find(exercise->op), exercise->traffic.sizes.type);
    if (!check_count(&device, &exercise->traffic.sizes, PUBLISHED_SEED, &evidence, result, failure)) {
        grading_explain(failure, &evidence);
    }
    evidence_free(&evidence);
    grading_close(grading, &runner);
    return true;
}

bool grading_performance(struct grading *grading, const struct exercise *exercise, const struct build_file *file) {
    struct result result = {0};
    struct failure failure = {0};
    bool counted = false;
    for (const struct check *check = exercise->checks; check->kind; check++) {
        if (check_is_correctness(check->kind) || (check_needs_gpu(check->kind) && !grading->build.cuda)) { continue; }
        struct outcome *outcome = grading_add(grading, exercise, check);
        if (check_needs_gpu(check->kind) && !grading->may_show) {
            outcome->verdict = VERDICT_WAITING;
            snprintf(outcome->measured, sizeof outcome->measured, "measured once you have predicted");
        } else if (check->kind == CHECK_RATE) {
            rate_score(grading->request, outcome);
        } else if (check->kind == CHECK_BAND) {
            struct runner runner;
            struct device device;
            if (!grading_open(grading, file, true, &runner, &device)) { return false; }
            timed_band(&runner, outcome);
            grading_close(grading, &runner);
        } else if (!grading->can_count) {
            snprintf(outcome->measured, sizeof outcome->measured, "not counted: see the note above");
        } else {
            if (!counted && !count(grading, exercise, &result, &failure)) { return false; }
            score_counted(outcome, &result, &failure, !counted);
            counted = true;
            if (!grading->may_show && failure.kind == FAILURE_NONE) { score_hide(outcome); }
        }
    }
    return true;
}

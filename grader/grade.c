/* grade.c — the pipeline: a request becomes a plan, programs, calls and their failures, causes, marks, and the report. */
#include "grade.h"

#include <stdio.h>
#include <string.h>

#include "diagnose.h"
#include "programs.h"
#include "progress.h"
#include "score.h"

/* ---- diagnose: the likely cause of a failure, where a known mistake matches what was shown, or a fact ---- */

static void explain(struct failure *failure, const struct evidence *evidence, const char *warning) {
    if (failure->kind == FAILURE_NONE || evidence->count == 0) { return; }
    struct diagnosis diagnosis = diagnose(evidence);
    bool is_open = !diagnosis.found || diagnosis.found->fact;
    snprintf(failure->warning, sizeof failure->warning, "%s", is_open ? warning : "");
    snprintf(failure->calls, sizeof failure->calls, "%s", diagnosis.calls);
    snprintf(failure->results, sizeof failure->results, "%s", diagnosis.results);
    if (!diagnosis.found) { return; }
    failure->diagnosis = diagnosis.found->id;
    failure->cause = diagnosis.found->cause;
    failure->fact = diagnosis.found->fact;
    failure->hint = diagnosis.found->hint;
    if (!diagnosis.other) { return; }
    failure->other_diagnosis = diagnosis.other->id;
    failure->other_cause = diagnosis.other->cause;
}

/* Only the last of the checks can have failed. */
static void explain_checks(struct checks *checks, const char *warning) {
    if (checks->count > 0) { explain(&checks->failure[checks->count - 1], &checks->evidence, warning); }
    evidence_free(&checks->evidence);
}

/* A call may be wrong only because of the calls before it. Then its `rerun` line shows nothing. */
static void try_alone(const struct task *task, struct checks *checks) {
    struct failure *failure = checks->count > 0 ? &checks->failure[checks->count - 1] : NULL;
    if (!failure || failure->kind == FAILURE_NONE || !failure->values || failure->kind == FAILURE_TIMEOUT) { return; }
    struct checks alone = run_case(task, &failure->test);
    if (alone.count == 1 && alone.verdict[0] == VERDICT_PASS) {
        size_t used = strlen(failure->calls);
        snprintf(failure->calls + used, sizeof failure->calls - used, "%salone, in a new process, this call is right",
                 used ? "; " : "");
    }
    evidence_free(&alone.evidence);
}

/* ---- one exercise ---- */

struct marked {
    struct marks marks;
    struct explored explored; /* exercise is NULL: its branches are unknown */
    struct process process;   /* of all that ran: what each said first */
};

static void keep_first(char *kept, const char *text, size_t size) {
    if (!kept[0]) { snprintf(kept, size, "%s", text); }
}

static void keep_process(struct process *kept, const struct process *process) {
    keep_first(kept->device, process->device, sizeof kept->device);
    keep_first(kept->sandbox, process->sandbox, sizeof kept->sandbox);
    keep_first(kept->printed, process->printed, sizeof kept->printed);
    keep_first(kept->fault, process->fault, sizeof kept->fault);
}

static bool have_passed(const struct checks *checks) {
    return checks->count == CORRECTNESS_CHECKS && checks->verdict[CORRECTNESS_CHECKS - 1] == VERDICT_PASS;
}

/* Builds the traced program. */
static void trace(const struct plan *plan, struct task *task) {
    static char path[PLAN_PATH_BYTES];
    progress_doing("build for the branches");
    programs_traced(plan, task->exercise, path);
    task->traced = path[0] ? path : NULL;
}

/* What is known about the branches, if all calls are right. */
static struct explored check_branches(const struct plan *plan, struct task *task, struct checks *checks,
                                      struct checks *confirmed) {
    static struct exploration found;
    struct explored explored = {.exercise = NULL};
    if (!have_passed(checks) || !task->can_count) { return explored; }
    trace(plan, task);
    run_exploration(task, &found);
    uint64_t fixed_bytes = checks->evidence.bytes;
    run_explored(task, &found, checks);
    if (have_passed(confirmed)) { run_explored_confirmation(task, &found, confirmed); }
    if (!have_passed(checks) || found.atoms == 0) { return explored; }
    explored = (struct explored){.exercise = task->exercise, .branches = found.atoms, .not_run = found.not_run};
    explored.fixed_bytes = fixed_bytes;
    explored.bytes = checks->evidence.bytes - fixed_bytes;
    memcpy(explored.untried, found.untried, sizeof explored.untried);
    return explored;
}

static struct marked mark_checks(const struct plan *plan, struct task *task) {
    struct marked marked = {.marks.count = 0};
    struct checks checks = run_checks(task), confirmed = run_confirmation(task, checks.count);
    marked.explored = check_branches(plan, task, &checks, &confirmed);
    explain_checks(&checks, task->warning);
    explain_checks(&confirmed, task->warning);
    try_alone(task, &checks);
    marked.marks = score_checks(task, &checks, &confirmed);
    keep_process(&marked.process, &checks.process);
    keep_process(&marked.process, &confirmed.process);
    return marked;
}

/* Without a cause: one call alone does not exclude other causes. */
static struct marked mark_case(const struct plan *plan, struct task *task) {
    struct marked marked = {.marks.count = 0};
    if (task->request->test->huge) { trace(plan, task); }
    struct checks checks = run_case(task, task->request->test);
    struct checks confirmed = run_case_confirmation(task, task->request->test);
    evidence_free(&checks.evidence);
    evidence_free(&confirmed.evidence);
    marked.marks = score_case(task, &checks, &confirmed);
    keep_process(&marked.process, &checks.process);
    keep_process(&marked.process, &confirmed.process);
    return marked;
}

static struct marked mark_exercise(const struct plan *plan, struct task *task) {
    if (task->obstacle.kind != FAILURE_NONE) { return (struct marked){.marks = score_obstacle(task)}; }
    if (task->request->test) { return mark_case(plan, task); }
    struct marked marked = mark_checks(plan, task);
    if (!score_is_right(&marked.marks)) {
        score_performance(&marked.marks, task, NULL);
        return marked;
    }
    struct performance performance = run_performance(task);
    explain(&performance.failure, &performance.evidence, task->warning);
    evidence_free(&performance.evidence);
    score_performance(&marked.marks, task, &performance);
    keep_process(&marked.process, &performance.process);
    return marked;
}

/* ---- the step ---- */

static void report_marked(struct report *report, const struct marked *marked) {
    for (int i = 0; i < marked->marks.count; i++) {
        report->outcomes[report->outcome_count++] = marked->marks.outcome[i];
    }
    if (marked->explored.exercise) { report->explored[report->explored_count++] = marked->explored; }
    keep_first(report->device, marked->process.device, sizeof report->device);
    keep_first(report->sandbox, marked->process.sandbox, sizeof report->sandbox);
    keep_first(report->printed, marked->process.printed, sizeof report->printed);
}

/* Every exercise of the plan. False: one of its programs could not be started, as `error` says. */
static bool mark_all(const struct plan *plan, const struct programs *programs, struct report *report, char *error,
                     size_t error_size) {
    int count = 0;
    while (plan->exercises[count]) { count++; }
    for (int i = 0; i < count; i++) {
        progress_exercise(plan->exercises[i]->title, i + 1, count);
        struct task task = programs_task(plan, programs, plan->exercises[i]);
        struct marked marked = mark_exercise(plan, &task);
        if (marked.process.fault[0]) {
            snprintf(error, error_size, "%s", marked.process.fault);
            return false;
        }
        report_marked(report, &marked);
    }
    return true;
}

enum exit_code grade_step(const struct grade_request *request, struct report *report, char *error, size_t error_size) {
    double start = child_now();
    struct prediction prediction;
    struct plan plan;
    struct programs programs;
    plan_make(request, &plan);
    progress_doing("build");
    enum exit_code code = programs_build(&plan, &programs);
    if (code != EXIT_FULL) {
        snprintf(error, error_size, "%s", programs.message);
        return code;
    }
    *report = (struct report){.step = request->step, .seed = request->seed, .is_gpu = plan.cuda};
    snprintf(report->note, sizeof report->note, "%.1023s", programs.message);
    if (!mark_all(&plan, &programs, report, error, error_size)) { return EXIT_FAULT; }
    predict_load(request->step, request->files, &prediction);
    if (!request->kernel) { predict_score(request->step, &prediction, &report->outcomes[report->outcome_count++]); }
    score_total(report);
    report->seconds = child_now() - start;
    return score_is_full(report) ? EXIT_FULL : EXIT_FEWER;
}

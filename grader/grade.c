#include "grade.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "grading.h"
#include "lab.h"
#include "score.h"

static void add_text(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add_text(char *text, size_t size, const char *format, ...) {
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (length + 1 < size) { vsnprintf(text + length, size - length, format, arguments); }
    va_end(arguments);
}

/* ---- one exercise ---- */

/* What stops an exercise before its first call: no file, a compile error, a library that may not be used. */
static bool not_callable(struct grading *grading, const struct exercise *exercise, struct failure *failure,
                         const struct build_file **file) {
    char object[PATH_LENGTH], library[64], symbol[256];
    *file = grading_file(&grading->build, exercise);
    failure->kind = FAILURE_BUILD;
    failure->hint = 1;
    if (!*file) {
        snprintf(failure->text, sizeof failure->text, "%s/%s is not there", grading->request->files, exercise->file);
        return true;
    }
    if (!(*file)->built) {
        snprintf(failure->text, sizeof failure->text, "%s does not compile:\n%.1900s", exercise->file, (*file)->errors);
        return true;
    }
    for (int i = -1; i < EXERCISE_MAX_PARTS && (i < 0 || exercise->parts[i]); i++) {
        const char *name = i < 0 ? exercise->file : exercise->parts[i];
        build_object_path(&grading->options, name, object, sizeof object);
        if (!build_forbidden(object, exercise->library, library, sizeof library, symbol, sizeof symbol)) { continue; }
        snprintf(failure->text, sizeof failure->text, "%s uses %s (%s); the kernels of this lab are to be your own",
                 name, library, symbol);
        return true;
    }
    *failure = (struct failure){0};
    return false;
}

/* Checks in order; the first that fails ends them, so that a learner sees one problem at a time. */
static bool grade_correctness(struct grading *grading, const struct exercise *exercise, const struct device *device) {
    struct evidence evidence;
    bool right = true;
    enum verdict rest = VERDICT_NOT_RUN;
    evidence_init(&evidence, op_find(exercise->op), exercise->type);
    for (const struct check *check = exercise->checks; check->kind && check_is_correctness(check->kind); check++) {
        struct outcome *outcome = grading_add(grading, exercise, check);
        outcome->verdict = rest;
        if (!right) { continue; }
        outcome->verdict =
            check_run(device, check->kind, PUBLISHED_SEED, grading->request->seed, &evidence, &outcome->failure);
        right = outcome->verdict == VERDICT_PASS;
        if (right) { outcome->points = check->points; }
        if (outcome->verdict == VERDICT_FAIL) { grading_explain(&outcome->failure, &evidence); }
        if (outcome->verdict == VERDICT_NOT_STARTED) {
            outcome->failure = (struct failure){0};
            rest = VERDICT_NOT_STARTED;
        }
    }
    evidence_free(&evidence);
    return right;
}

/* The rest of an exercise that could not be called, or is not right, or not started. */
static void skip(struct grading *grading, const struct exercise *exercise, bool correctness, enum verdict verdict) {
    for (const struct check *check = exercise->checks; check->kind; check++) {
        if (check_needs_gpu(check->kind) && !grading->build.cuda) { continue; }
        if (correctness != check_is_correctness(check->kind)) { continue; }
        grading_add(grading, exercise, check)->verdict = verdict;
    }
}

/* What the CPU backend's checks say of an exercise that a GPU has marked: a race that the GPU did not show fails it all
 * the same, so that the mark does not depend on the machine; and a failure gets the line that the checks name.
 * `outcomes`: those of the correctness checks. */
static void confirm(const struct device *checker, uint64_t secret, struct outcome *outcomes, int count) {
    struct evidence evidence;
    bool failed = false;
    evidence_init(&evidence, op_find(outcomes->exercise->op), outcomes->exercise->type);
    for (int i = 0; i < count; i++) {
        struct outcome *outcome = &outcomes[i];
        struct failure failure = {0};
        if (failed) {
            *outcome = (struct outcome){.exercise = outcome->exercise, .check = outcome->check};
            continue;
        }
        enum verdict verdict = check_run(checker, outcome->check->kind, PUBLISHED_SEED, secret, &evidence, &failure);
        failed = verdict != VERDICT_PASS || outcome->verdict != VERDICT_PASS;
        bool says_more = failure.kind == FAILURE_FINDING || !outcome->failure.diagnosis;
        if (verdict == VERDICT_PASS || !says_more) { continue; }
        outcome->verdict = VERDICT_FAIL;
        outcome->points = 0.0;
        outcome->failure = failure;
        grading_explain(&outcome->failure, &evidence);
    }
    evidence_free(&evidence);
}

static bool confirm_on_cpu(struct grading *grading, const struct exercise *exercise, int first) {
    struct runner runner;
    struct device checker;
    struct outcome *outcome = &grading->report->outcomes[first];
    const struct build_file *file = grading_file(&grading->counted, exercise);
    if (!grading->can_count || !file || !file->built || outcome->verdict == VERDICT_NOT_STARTED) { return true; }
    if (!grading_open(grading, file, false, &runner, &checker)) { return false; }
    confirm(&checker, grading->request->seed, outcome, grading->report->outcome_count - first);
    grading_close(grading, &runner);
    return true;
}

static bool grade_exercise(struct grading *grading, const struct exercise *exercise) {
    const struct build_file *file;
    struct failure failure = {0};
    struct runner runner;
    struct device device;
    if (not_callable(grading, exercise, &failure, &file)) {
        int first = grading->report->outcome_count;
        skip(grading, exercise, true, VERDICT_NOT_RUN);
        skip(grading, exercise, false, VERDICT_NOT_RUN);
        grading->report->outcomes[first].verdict = VERDICT_FAIL;
        grading->report->outcomes[first].failure = failure;
        return true;
    }
    if (!grading_open(grading, file, grading->build.cuda, &runner, &device)) { return false; }
    int first = grading->report->outcome_count;
    bool right = grade_correctness(grading, exercise, &device);
    grading_close(grading, &runner);
    if (grading->build.cuda && !confirm_on_cpu(grading, exercise, first)) { return false; }
    for (int i = first; i < grading->report->outcome_count; i++) {
        right = right && grading->report->outcomes[i].verdict == VERDICT_PASS;
    }
    if (right) { return grading_performance(grading, exercise, file); }
    enum verdict last = grading->report->outcomes[grading->report->outcome_count - 1].verdict;
    skip(grading, exercise, false, last == VERDICT_NOT_STARTED ? VERDICT_NOT_STARTED : VERDICT_NOT_RUN);
    return true;
}

/* ---- the step ---- */

static const char *backend_of(const struct grade_request *request) {
    if (strcmp(request->backend, "auto") != 0) { return request->backend; }
    return build_auto_is_cuda() ? "cuda" : "cpu";
}

void grade_out(const struct grade_request *request, char *out, size_t size) {
    if (request->out) {
        snprintf(out, size, "%s", request->out);
    } else {
        snprintf(out, size, "build/%s/%s", backend_of(request), request->step->folder);
    }
}

static enum exit_code build(struct grading *grading, const struct build_options *options, struct build_report *report) {
    switch (build_step(options, report)) {
        case BUILD_OK:
        case BUILD_PARTIAL: return EXIT_FULL;
        case BUILD_NO_TOOL: grading_fault(grading, report->message); return EXIT_USAGE;
        case BUILD_BROKEN: grading_fault(grading, report->message); return EXIT_FAULT;
    }
    return EXIT_FAULT;
}

/* The files of the exercises that are marked, each once; a solution's folder has others besides. */
static void list_names(const struct grade_request *request, char *names, size_t size) {
    size_t used = 0;
    const char *before = "";
    names[0] = '\0';
    for (const struct exercise *exercise = request->step->exercises; exercise->op; exercise++) {
        if (request->kernel && !exercise_is(exercise, request->kernel)) { continue; }
        if (strcmp(exercise->file, before) == 0 || used >= size) { continue; }
        int length = (int)strcspn(exercise->file, ".");
        used += (size_t)snprintf(names + used, size - used, "%s%.*s", used ? " " : "", length, exercise->file);
        before = exercise->file;
    }
}

/* The files that programs are linked with besides their own. */
static void list_parts(const struct step *step, const char *parts[BUILD_MAX_PARTS]) {
    int count = 0;
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i] && count + 1 < BUILD_MAX_PARTS; i++) {
            bool known = false;
            for (int k = 0; k < count; k++) { known = known || strcmp(parts[k], exercise->parts[i]) == 0; }
            if (!known) { parts[count++] = exercise->parts[i]; }
        }
    }
}

static enum exit_code build_all(struct grading *grading) {
    const struct grade_request *request = grading->request;
    struct report *report = grading->report;
    list_names(request, grading->names, sizeof grading->names);
    grading->options = (struct build_options){
        request->course, request->step->folder, request->files, grading->out, backend_of(request), grading->names, {0}};
    list_parts(request->step, grading->options.parts);
    grade_out(request, grading->out, sizeof grading->out);
    enum exit_code code = build(grading, &grading->options, &grading->build);
    if (code != EXIT_FULL) { return code; }
    if (grading->build.cuda && !build_gpu_is_there()) {
        grading_fault(grading,
                      "--backend cuda needs an NVIDIA GPU, and this machine has none (no /dev/nvidia0). Without "
                      "it, or with --backend cpu, the CPU backend marks");
        return EXIT_USAGE;
    }
    add_text(report->note, sizeof report->note, "%s", grading->build.message);
    report->is_gpu = grading->build.cuda;
    grading->can_count = true;
    if (!report->is_gpu) {
        grading->counted = grading->build;
        return EXIT_FULL;
    }
    char counted[PATH_LENGTH + 16];
    snprintf(counted, sizeof counted, "%s/counted", grading->out);
    struct build_options options = {
        request->course, request->step->folder, request->files, counted, "cpu", grading->names, {0}};
    list_parts(request->step, options.parts);
    if (build(grading, &options, &grading->counted) != EXIT_FULL) {
        grading->can_count = false;
        add_text(report->note, sizeof report->note,
                 "%sthe CPU build, whose counters give traffic and parallelism, is missing: %s",
                 report->note[0] ? "\n" : "", grading->error);
    }
    return EXIT_FULL;
}

enum exit_code grade_step(const struct grade_request *request, struct report *report, char *error, size_t error_size) {
    struct grading grading = {.request = request, .report = report, .error = error, .error_size = error_size};
    struct prediction prediction;
    double start = child_now();
    *report = (struct report){.step = request->step, .seed = request->seed};
    predict_load(request->step, request->files, &prediction);
    grading.may_show = prediction.made || request->official;
    enum exit_code code = build_all(&grading);
    if (code != EXIT_FULL) { return code; }
    for (const struct exercise *exercise = request->step->exercises; exercise->op; exercise++) {
        if (request->kernel && !exercise_is(exercise, request->kernel)) { continue; }
        if (!grade_exercise(&grading, exercise)) { return EXIT_FAULT; }
    }
    if (!request->kernel) { predict_score(request->step, &prediction, &report->outcomes[report->outcome_count++]); }
    score_total(report);
    report->seconds = child_now() - start;
    return score_is_full(report) ? EXIT_FULL : EXIT_FEWER;
}

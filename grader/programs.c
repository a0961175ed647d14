#include "programs.h"

#include <stdio.h>
#include <string.h>

#include "diagnose.h"
#include "symbols.h"

static enum exit_code build(const struct build_options *options, struct build_report *report) {
    switch (build_step(options, report)) {
        case BUILD_OK:
        case BUILD_PARTIAL: return EXIT_FULL;
        case BUILD_NO_TOOL: return EXIT_USAGE;
        case BUILD_BROKEN: return EXIT_FAULT;
    }
    return EXIT_FAULT;
}

/* The CPU build comes first: nvcc gets no file that the rules for the lab's code refuse. */
static enum exit_code build_both(const struct plan *plan, struct programs *programs) {
    char refused[2 * BUILD_MAX_FILES * BUILD_NAME_BYTES];
    struct build_options marked = plan->marked;
    marked.refused = refused;
    programs->can_count = build(&plan->counted, &programs->counted) == EXIT_FULL;
    build_refused(&plan->counted, &programs->counted, refused, sizeof refused);
    enum exit_code code = build(&marked, &programs->marked);
    snprintf(programs->message, sizeof programs->message, "%s", programs->marked.message);
    if (code == EXIT_FULL && !programs->can_count) {
        size_t used = strlen(programs->message);
        snprintf(programs->message + used, sizeof programs->message - used,
                 "%sthe CPU build, whose counters give traffic and parallelism, is missing: %s", used ? "\n" : "",
                 programs->counted.message);
    }
    return code;
}

enum exit_code programs_build(const struct plan *plan, struct programs *programs) {
    if (plan->cuda && !build_gpu_is_there()) {
        snprintf(programs->message, sizeof programs->message,
                 "--backend cuda needs an NVIDIA GPU, and this machine has none (no /dev/nvidia0). Without it, or with "
                 "--backend cpu, the CPU backend marks");
        return EXIT_USAGE;
    }
    if (plan->cuda) { return build_both(plan, programs); }
    enum exit_code code = build(&plan->marked, &programs->marked);
    snprintf(programs->message, sizeof programs->message, "%s", programs->marked.message);
    programs->can_count = true;
    programs->counted = programs->marked;
    return code;
}

/* The exercise's file in a build, or NULL: it is not there. */
static const struct build_file *find(const struct build_report *build, const struct exercise *exercise) {
    char name[BUILD_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(exercise->file, "."), exercise->file);
    return build_find(build, name);
}

/* True if the rules for the lab's code refuse the file: `failure` then has the diagnosis. */
static bool diagnose_refusal(const char *errors, struct failure *failure) {
    if (!strstr(errors, BUILD_NOT_ALLOWED)) { return false; }
    const struct op_mistake *mistake = diagnosis_find("not-allowed");
    failure->diagnosis = mistake->id;
    failure->cause = mistake->cause;
    return true;
}

static struct failure obstacle_of(const struct plan *plan, const struct programs *programs,
                                  const struct exercise *exercise) {
    char object[PLAN_PATH_BYTES], library[64], symbol[256];
    const struct build_file *file = find(&programs->marked, exercise);
    struct failure failure = {.kind = FAILURE_BUILD, .hint = 1};
    if (!file) {
        snprintf(failure.text, sizeof failure.text, "%s/%s is not there", plan->request->files, exercise->file);
        return failure;
    }
    const struct build_file *counted = find(&programs->counted, exercise);
    if (plan->cuda && counted && diagnose_refusal(counted->errors, &failure)) {
        snprintf(failure.text, sizeof failure.text, "%s is not run:\n%.1900s", exercise->file, counted->errors);
        return failure;
    }
    if (!file->built) {
        snprintf(failure.text, sizeof failure.text, "%s does not compile:\n%.1900s", exercise->file, file->errors);
        diagnose_refusal(file->errors, &failure);
        return failure;
    }
    for (int i = -1; i < EXERCISE_MAX_PARTS && (i < 0 || exercise->parts[i]); i++) {
        const char *name = i < 0 ? exercise->file : exercise->parts[i];
        build_object_path(&plan->marked, name, object, sizeof object);
        if (!symbols_forbidden(object, exercise->library, library, sizeof library, symbol, sizeof symbol)) { continue; }
        snprintf(failure.text, sizeof failure.text, "%s uses %s (%s); write the kernels of this lab yourself", name,
                 library, symbol);
        return failure;
    }
    return (struct failure){0};
}

struct task programs_task(const struct plan *plan, const struct programs *programs, const struct exercise *exercise) {
    const struct build_file *marked = find(&programs->marked, exercise), *counted = find(&programs->counted, exercise);
    struct task task = {.request = plan->request,
                        .exercise = exercise,
                        .gpu = plan->cuda,
                        .shows_figures = plan->shows_figures,
                        .can_count = programs->can_count,
                        .program = marked && marked->built ? marked->runner : NULL,
                        .counted = counted && counted->built ? counted->runner : NULL,
                        .warning = counted  ? counted->warning
                                   : marked ? marked->warning
                                            : "",
                        .obstacle = obstacle_of(plan, programs, exercise)};
    return task;
}

void programs_traced(const struct plan *plan, const struct exercise *exercise, char *path) {
    char name[BUILD_NAME_BYTES];
    struct build_options options = plan->traced;
    struct build_report report;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(exercise->file, "."), exercise->file);
    options.names = name;
    build_step(&options, &report);
    const struct build_file *file = build_find(&report, name);
    snprintf(path, PLAN_PATH_BYTES, "%s", file && file->built ? file->runner : "");
}

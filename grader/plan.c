#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "lab.h"

static bool is_cuda(const struct grade_request *request) {
    return strcmp(request->backend, "auto") == 0 ? build_auto_is_cuda() : strcmp(request->backend, "cuda") == 0;
}

void plan_out(const struct grade_request *request, char *out, size_t size) {
    if (request->out) {
        snprintf(out, size, "%s", request->out);
    } else {
        snprintf(out, size, "build/%s/%s", is_cuda(request) ? "cuda" : "cpu", request->step->folder);
    }
}

/* "softmax layernorm": the files of the exercises, each once; a solution's folder has others besides. */
static void list_names(struct plan *plan) {
    size_t used = 0, size = sizeof plan->names;
    const char *before = "";
    for (int i = 0; plan->exercises[i] && used < size; i++) {
        const char *file = plan->exercises[i]->file;
        if (strcmp(file, before) == 0) { continue; }
        int length = (int)strcspn(file, ".");
        used += (size_t)snprintf(plan->names + used, size - used, "%s%.*s", used ? " " : "", length, file);
        before = file;
    }
}

/* The files that programs are linked with besides their own, each once. */
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

void plan_make(const struct grade_request *request, struct plan *plan) {
    struct prediction prediction;
    int count = 0;
    *plan = (struct plan){.request = request, .cuda = is_cuda(request)};
    predict_load(request->step, request->files, &prediction);
    plan->shows_figures = prediction.made || request->official;
    for (const struct exercise *exercise = request->step->exercises; exercise->op; exercise++) {
        if (!request->kernel || exercise_is(exercise, request->kernel)) { plan->exercises[count++] = exercise; }
    }
    list_names(plan);
    plan_out(request, plan->out, sizeof plan->out);
    snprintf(plan->counted_out, sizeof plan->counted_out, "%s/counted", plan->out);
    plan->marked = (struct build_options){.course = request->course,
                                          .lab = request->step->folder,
                                          .files = request->files,
                                          .out = plan->out,
                                          .backend = plan->cuda ? "cuda" : "cpu",
                                          .names = plan->names};
    list_parts(request->step, plan->marked.parts);
    plan->counted = plan->marked;
    plan->counted.out = plan->counted_out;
    plan->counted.backend = "cpu";
    snprintf(plan->traced_out, sizeof plan->traced_out, "%s/traced", plan->out);
    plan->traced = plan->counted;
    plan->traced.out = plan->traced_out;
    plan->traced.traced = true;
}

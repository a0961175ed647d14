#include "rate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"
#include "spawn.h"

enum { LONGEST_SECONDS = 90 };

static bool same_folder(const char *a, const char *b) {
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return realpath(a, real_a) && realpath(b, real_b) && strcmp(real_a, real_b) == 0;
}

bool rate_program(const struct grade_request *request, char *path, size_t size, const char **kernels,
                  struct rates *rates) {
    char solution[PATHS_BYTES];
    snprintf(solution, sizeof solution, "%s/%s/solution", request->course, request->step->folder);
    bool is_solution = same_folder(request->files, solution);
    *kernels = is_solution ? "reference" : "lab";
    if (is_solution) {
        snprintf(path, size, "%s/build/gpt2/cuda/gpt2", request->course);
    } else {
        snprintf(path, size, "%s/../gpt2", request->files);
    }
    if (access(path, X_OK) == 0) { return true; }
    snprintf(rates->reason, sizeof rates->reason, "not measured: %s",
             is_solution ? "make gpt2 BACKEND=cuda builds the program" : "make step4 builds ./gpt2 first");
    return false;
}

double rate_parse(const char *printed) {
    for (const char *line = printed; line; line = strchr(line, '\n')) {
        double p5, p50, p95, rate;
        line += *line == '\n';
        if (sscanf(line, "%*s %*s decode %*d %*d %lf %lf %lf %lf", &p5, &p50, &p95, &rate) == 4) { return rate; }
    }
    return -1.0;
}

static double run(const char *program, const char *kernels, struct rates *rates) {
    const char *const arguments[] = {program,     "bench", "--sizes",   "124M",   "--types",     "bf16",
                                     "--batch",   "1",     "--lengths", "0",      "--positions", "short",
                                     "--seconds", "0.5",   "--decode",  "taught", "--attention", "taught",
                                     "--kernels", kernels, NULL};
    struct limits limits = limits_default;
    struct child child;
    char nothing;
    limits.gpu = true;
    limits.call_seconds = LONGEST_SECONDS;
    if (child_start(&child, program, arguments, &limits) == CHILD_OK) {
        child_receive(&child, &nothing, 1, child_now() + limits.call_seconds); /* until it ends */
    }
    double rate = rate_parse(child.output);
    if (!(rate > 0.0)) {
        const char *text = child.output[0] ? child.output : child.message;
        snprintf(rates->reason, sizeof rates->reason, "not measured with the kernels %s: %.*s", kernels,
                 (int)strcspn(text, "\n") > 60 ? 60 : (int)strcspn(text, "\n"), text);
    }
    return rate;
}

bool rate_measure(const char *program, const char *kernels, struct rates *rates) {
    rates->own = run(program, kernels, rates);
    if (!(rates->own > 0.0)) { return false; }
    rates->naive = run(program, "naive", rates);
    return rates->naive > 0.0;
}

void rate_score(const struct grade_request *request, struct outcome *outcome) {
    char program[PATHS_BYTES];
    const char *kernels;
    struct rates rates = {0};
    snprintf(outcome->target, sizeof outcome->target, "shown only");
    if (!rate_program(request, program, sizeof program, &kernels, &rates) || !rate_measure(program, kernels, &rates)) {
        outcome->verdict = VERDICT_NOT_RUN;
        snprintf(outcome->measured, sizeof outcome->measured, "%.95s", rates.reason);
        return;
    }
    outcome->verdict = VERDICT_PASS;
    outcome->figure = rates.own / rates.naive;
    snprintf(outcome->measured, sizeof outcome->measured, "%.0f tokens/s, %.2fx the naive kernels' %.0f", rates.own,
             outcome->figure, rates.naive);
}

#include "rate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "progress.h"
#include "spawn.h"

enum { LONGEST_SECONDS = 90, MAX_ARGUMENTS = 48 };

static bool same_folder(const char *a, const char *b) {
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return realpath(a, real_a) && realpath(b, real_b) && strcmp(real_a, real_b) == 0;
}

/* The first of the step's files that was written after the program, or NULL. */
static const char *newer_file(const struct grade_request *request, const char *program) {
    struct stat built, written;
    char path[PATHS_BYTES];
    if (stat(program, &built) != 0) { return NULL; }
    for (const struct exercise *exercise = request->step->exercises; exercise->op; exercise++) {
        snprintf(path, sizeof path, "%s/%s", request->files, exercise->file);
        if (!exercise->optional && stat(path, &written) == 0 && written.st_mtim.tv_sec > built.st_mtim.tv_sec) {
            return exercise->file;
        }
    }
    return NULL;
}

bool rate_program(const struct grade_request *request, const struct rate_target *target, char *path, size_t size,
                  const char **kernels, struct rates *rates) {
    char solution[PATHS_BYTES];
    snprintf(solution, sizeof solution, "%s/%s/solution", request->course, request->step->folder);
    bool is_solution = same_folder(request->files, solution);
    *kernels = is_solution ? "reference" : "lab";
    if (is_solution) {
        snprintf(path, size, "%s/%s", request->course, target->reference);
    } else {
        snprintf(path, size, "%s/../%s", request->files, target->program);
    }
    const char *newer = is_solution ? NULL : newer_file(request, path);
    if (newer) {
        snprintf(rates->reason, sizeof rates->reason, "not measured: ./%.24s is older than %.24s: make %.16s first",
                 target->program, newer, request->step->name);
        return false;
    }
    if (access(path, X_OK) == 0) { return true; }
    if (is_solution) {
        snprintf(rates->reason, sizeof rates->reason, "not measured: make %.40s BACKEND=cuda builds the program",
                 target->program);
    } else {
        snprintf(rates->reason, sizeof rates->reason, "not measured: make %.40s builds ./%.40s first",
                 request->step->name, target->program);
    }
    return false;
}

/* The word of that number in a line, from 1; NULL: the line is shorter. */
static const char *word_of(const char *line, int number) {
    for (;;) {
        line += strspn(line, " ");
        if (*line == '\0' || *line == '\n') { return NULL; }
        if (--number == 0) { return line; }
        line += strcspn(line, " \n");
    }
}

static bool has_word(const char *line, const char *name) {
    const char *word;
    for (int i = 1; (word = word_of(line, i)); i++) {
        if (strcspn(word, " \n") == strlen(name) && strncmp(word, name, strlen(name)) == 0) { return true; }
    }
    return false;
}

double rate_parse(const struct rate_target *target, const char *printed) {
    for (const char *line = printed; line; line = strchr(line, '\n')) {
        double rate;
        line += *line == '\n';
        const char *word = has_word(line, target->row) ? word_of(line, target->column) : NULL;
        if (word && sscanf(word, "%lf", &rate) == 1) { return rate; }
    }
    return -1.0;
}

/* PROGRAM ARGUMENTS KERNELS as an array, NULL-ended; the words are cut out of `text`. */
static void list_arguments(const char *program, char *text, const char *kernels, const char *list[MAX_ARGUMENTS + 3]) {
    int count = 0;
    list[count++] = program;
    for (char *word = strtok(text, " "); word && count <= MAX_ARGUMENTS; word = strtok(NULL, " ")) {
        list[count++] = word;
    }
    list[count++] = kernels;
    list[count] = NULL;
}

static double run(const struct rate_target *target, const char *program, const char *kernels, struct rates *rates) {
    char text[512], nothing;
    const char *arguments[MAX_ARGUMENTS + 3];
    struct limits limits = limits_default;
    struct child child;
    snprintf(text, sizeof text, "%s", target->arguments);
    list_arguments(program, text, kernels, arguments);
    limits.gpu = true;
    limits.waiting = progress_tick;
    limits.call_seconds = LONGEST_SECONDS;
    if (child_start(&child, program, arguments, &limits) == CHILD_OK) {
        child_receive(&child, &nothing, 1, child_now() + limits.call_seconds); /* until it ends */
    }
    double rate = rate_parse(target, child.output);
    if (!(rate > 0.0)) {
        const char *said = child.output[0] ? child.output : child.message;
        snprintf(rates->reason, sizeof rates->reason, "not measured with the kernels %s: %.*s", kernels,
                 (int)strcspn(said, "\n") > 60 ? 60 : (int)strcspn(said, "\n"), said);
    }
    return rate;
}

bool rate_measure(const struct rate_target *target, const char *program, const char *kernels, struct rates *rates) {
    rates->own = run(target, program, kernels, rates);
    if (!(rates->own > 0.0)) { return false; }
    rates->naive = run(target, program, "naive", rates);
    return rates->naive > 0.0;
}

struct rates rate_run(const struct grade_request *request, const struct exercise *exercise) {
    const struct rate_target *target = &exercise->rate;
    char program[PATHS_BYTES];
    const char *kernels;
    struct rates rates = {0};
    rates.is_measured = rate_program(request, target, program, sizeof program, &kernels, &rates) &&
                        rate_measure(target, program, kernels, &rates);
    return rates;
}

/* lab.c — looking things up in the labs. */
#include "lab.h"

#include <stdio.h>
#include <string.h>

const struct step *step_find(const struct step *steps, const char *name) {
    for (const struct step *step = steps; step->name; step++) {
        if (strcmp(step->name, name) == 0) { return step; }
    }
    return NULL;
}

const struct exercise *step_open(const struct step *step) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (exercise->open.title) { return exercise; }
    }
    return NULL;
}

bool step_keep_open(struct step *step) {
    const struct exercise *found = step_open(step);
    if (!found) { return false; }
    struct exercise exercise = *found;
    int count = 0;
    memset(exercise.checks, 0, sizeof exercise.checks);
    for (enum check_kind kind = CHECK_SHAPES; kind <= CHECK_TRAFFIC; kind++) {
        exercise.checks[count++] = (struct check){kind, 0};
    }
    exercise.traffic = exercise.open.goal;
    exercise.optional = exercise.is_open = true;
    snprintf(exercise.title, sizeof exercise.title, "%s", exercise.open.title);
    memset(step->exercises, 0, sizeof step->exercises);
    memset(step->scripts, 0, sizeof step->scripts);
    step->exercises[0] = exercise;
    return true;
}

const struct step *step_after(const struct step *step) {
    return step[1].name ? step + 1 : NULL;
}

bool exercise_is(const struct exercise *exercise, const char *name) {
    char launcher[64];
    op_launcher_name(op_find(exercise->op), exercise->type, launcher, sizeof launcher);
    return strcmp(exercise->op, name) == 0 || strcmp(launcher, name) == 0;
}

const char *exercise_name(const struct step *step, const struct exercise *exercise, char name[EXERCISE_NAME_BYTES]) {
    int types = 0;
    for (const struct exercise *other = step->exercises; other->op; other++) {
        types += strcmp(other->op, exercise->op) == 0;
    }
    snprintf(name, EXERCISE_NAME_BYTES, "%s", exercise->op);
    if (types > 1) { op_launcher_name(op_find(exercise->op), exercise->type, name, EXERCISE_NAME_BYTES); }
    return name;
}

const struct exercise *exercise_find(const struct step *step, const char *name) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (exercise_is(exercise, name)) { return exercise; }
    }
    return NULL;
}

const struct script *script_find(const struct step *step, const char *name) {
    for (const struct script *script = step->scripts; script->name; script++) {
        if (strcmp(script->name, name) == 0) { return script; }
    }
    return NULL;
}

const char *step_file(const struct step *step, int index) {
    if (index-- == 0) { return PREDICTIONS_FILE; }
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (index-- == 0) { return exercise->file; }
        for (int i = 0; i < EXERCISE_MAX_INCLUDES && exercise->includes[i]; i++) {
            if (index-- == 0) { return exercise->includes[i]; }
        }
        for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++) {
            if (index-- == 0) { return exercise->parts[i]; }
        }
    }
    for (const struct script *script = step->scripts; script->name; script++) {
        if (index-- == 0) { return script->file; }
    }
    return NULL;
}

bool step_owns_file(const struct step *step, const char *file) {
    const char *own;
    for (int i = 0; (own = step_file(step, i)); i++) {
        if (strcmp(own, file) == 0) { return true; }
    }
    return false;
}

const struct check *exercise_check(const struct exercise *exercise, enum check_kind kind) {
    for (const struct check *check = exercise->checks; check->kind; check++) {
        if (check->kind == kind) { return check; }
    }
    return NULL;
}

uint64_t exercise_longest_chain(const struct exercise *exercise) {
    return 2 * exercise->parallel.reference_chain;
}

const char *check_name(enum check_kind kind) {
    switch (kind) {
        case CHECK_SHAPES: return "shapes";
        case CHECK_VALUES: return "values";
        case CHECK_MEMORY: return "memory";
        case CHECK_SECRET: return "secret";
        case CHECK_TRAFFIC: return "traffic";
        case CHECK_LAUNCHES: return "launches";
        case CHECK_BARRIERS: return "barriers";
        case CHECK_PARALLEL: return "parallelism";
        case CHECK_BAND: return "speed";
        case CHECK_RATE: return "tokens/s";
        case CHECK_PREDICTION: return "predictions";
        case CHECK_CASE: return "case";
    }
    return "?";
}

bool check_is_correctness(enum check_kind kind) {
    return kind <= CHECK_SECRET;
}

bool check_is_counted(enum check_kind kind) {
    return kind >= CHECK_TRAFFIC && kind <= CHECK_PARALLEL;
}

bool check_needs_gpu(enum check_kind kind) {
    return kind == CHECK_BAND || kind == CHECK_RATE;
}

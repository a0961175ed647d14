#include "lab.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABS = 64, FOLDER_BYTES = 128, PATH_BYTES = 1200, LARGEST_LAB_BYTES = 1 << 20 };

/* ---- all labs of a course ---- */

static int by_number(const void *a, const void *b) {
    return strverscmp(a, b); /* step10 after step9 */
}

/* step[0-9]*_* */
static bool is_step_folder(const char *name) {
    return strncmp(name, "step", 4) == 0 && isdigit((unsigned char)name[4]) && strchr(name, '_') != NULL &&
           strlen(name) < FOLDER_BYTES;
}

static int list_folders(const char *course, char folders[MAX_LABS][FOLDER_BYTES]) {
    int count = 0;
    DIR *entries = opendir(course);
    for (struct dirent *entry; entries && count < MAX_LABS && (entry = readdir(entries));) {
        if (is_step_folder(entry->d_name)) { strcpy(folders[count++], entry->d_name); }
    }
    if (entries) { closedir(entries); }
    qsort(folders, (size_t)count, FOLDER_BYTES, by_number);
    return count;
}

/* The whole file, which the caller frees; NULL with errno. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LARGEST_LAB_BYTES) : NULL;
    if (text) { *length = fread(text, 1, LARGEST_LAB_BYTES, file); }
    if (file) { fclose(file); }
    return text;
}

/* Folders without a description are no labs (of a learner's, say). */
static bool load_lab(const char *course, const char *folder, struct step *steps, int *count, char *error,
                     size_t error_size) {
    char path[PATH_BYTES];
    size_t length;
    bool here = strcmp(course, ".") == 0;
    snprintf(path, sizeof path, "%.900s%s%.127s/" LAB_FILE, here ? "" : course, here ? "" : "/", folder);
    char *text = read_file(path, &length);
    if (!text && errno == ENOENT) { return true; }
    if (!text) {
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    bool ok = lab_read(folder, path, text, length, &steps[*count], error, error_size);
    free(text);
    for (int i = 0; ok && i < *count; i++) {
        if (strcmp(steps[i].name, steps[*count].name) != 0) { continue; }
        snprintf(error, error_size, "%s and %s are both %s: rename one of the folders", steps[i].folder, folder,
                 steps[i].name);
        lab_free(&steps[*count]);
        ok = false;
    }
    *count += ok;
    return ok;
}

const struct step *labs_load(const char *course, char *error, size_t error_size) {
    char folders[MAX_LABS][FOLDER_BYTES];
    int folder_count = list_folders(course, folders), count = 0;
    struct step *steps = calloc((size_t)folder_count + 1, sizeof *steps);
    bool ok = steps != NULL;
    snprintf(error, error_size, "out of memory");
    for (int i = 0; ok && i < folder_count; i++) {
        ok = load_lab(course, folders[i], steps, &count, error, error_size);
    }
    if (ok && count == 0) {
        snprintf(error, error_size, "there is no lab in %s: no folder stepN_subject with a " LAB_FILE, course);
    }
    if (ok && count > 0) { return steps; }
    labs_free(steps);
    return NULL;
}

void labs_free(const struct step *steps) {
    for (const struct step *step = steps; step && step->name; step++) { free(step->memory); }
    free((void *)(uintptr_t)steps);
}

void lab_free(struct step *step) {
    free(step->memory);
    *step = (struct step){0};
}

/* ---- looking things up ---- */

const struct step *step_find(const struct step *steps, const char *name) {
    for (const struct step *step = steps; step->name; step++) {
        if (strcmp(step->name, name) == 0) { return step; }
    }
    return NULL;
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
        case CHECK_PARALLEL: return "parallelism";
        case CHECK_BAND: return "speed";
        case CHECK_RATE: return "tokens/s";
        case CHECK_PREDICTION: return "predictions";
    }
    return "?";
}

bool check_is_correctness(enum check_kind kind) {
    return kind <= CHECK_SECRET;
}

bool check_needs_gpu(enum check_kind kind) {
    return kind == CHECK_BAND || kind == CHECK_RATE;
}

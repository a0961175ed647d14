#include "class_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "lab_words.h"

enum { LARGEST_FILE = 1 << 20, MOST_POINTS = 1000, MOST_EXERCISES = 1024 };

struct state {
    struct words words;
    struct step *steps;
    struct class_conf *conf;
    const struct check *given[MOST_EXERCISES]; /* checks whose points were given */
    int given_count;
};

/* ---- names ---- */

/* STEP: its name in the file. */
static struct step *take_step(struct state *state) {
    const char *name;
    if (!words_take_one(&state->words, &name, "a step, like step1")) { return NULL; }
    for (struct step *step = state->steps; step->name; step++) {
        if (strcmp(step->name, name) == 0) { return step; }
    }
    words_fail(&state->words, 0, "there is no step '%s': ./grader --list shows them all", name);
    return NULL;
}

/* STEP EXERCISE */
static struct step *take_exercise(struct state *state, const char **name) {
    struct step *step = take_step(state);
    if (!step || !words_take_one(&state->words, name, "an exercise, like softmax_forward")) { return NULL; }
    const struct exercise *exercise = exercise_find(step, *name);
    if (!exercise) {
        words_fail(&state->words, 0, "%s has no exercise '%s': ./grader --list shows them all", step->name, *name);
        return NULL;
    }
    if (exercise->optional) {
        words_fail(&state->words, 0, "%s is optional and has no points: leave this line out", *name);
        return NULL;
    }
    return step;
}

static struct check *find_check(struct exercise *exercise, const char *name, size_t length) {
    for (struct check *check = exercise->checks; check->kind; check++) {
        const char *own = check_name(check->kind);
        if (strlen(own) == length && strncmp(own, name, length) == 0) { return check; }
    }
    return NULL;
}

/* ---- points ---- */

static bool is_points(struct state *state, const char *text, int *points) {
    return word_is_whole(text, 0, MOST_POINTS, points) ||
           words_fail(&state->words, 0, "'%s': points are whole numbers from 0 to %d", text, MOST_POINTS);
}

static bool give(struct state *state, struct check *check, int points) {
    for (int i = 0; i < state->given_count; i++) {
        if (state->given[i] == check) {
            return words_fail(&state->words, 0, "the points of %s are given twice: keep one of them",
                              check_name(check->kind));
        }
    }
    if (state->given_count == MOST_EXERCISES) { return words_fail(&state->words, 0, "the file has too many points"); }
    state->given[state->given_count++] = check;
    check->points = points;
    return true;
}

/* CHECK=N, for every type of the exercise. */
static bool give_check(struct state *state, struct step *step, const char *exercise_name, const char *word) {
    size_t length = strcspn(word, "=");
    bool found = false;
    int points;
    if (word[length] != '=') {
        return words_fail(&state->words, 0, "'%s' gives no points: write CHECK=POINTS, like shapes=10", word);
    }
    if (!is_points(state, word + length + 1, &points)) { return false; }
    for (struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        struct check *check = exercise_is(exercise, exercise_name) ? find_check(exercise, word, length) : NULL;
        if (!check) { continue; }
        found = true;
        if (!give(state, check, points)) { return false; }
    }
    return found || words_fail(&state->words, 0, "%s has no check '%.*s': ./grader %s --describe shows them",
                               exercise_name, (int)length, word, step->name);
}

/* points STEP EXERCISE CHECK=N ... */
static bool read_points(struct state *state) {
    const char *name;
    struct step *step = take_exercise(state, &name);
    int count = 0;
    if (!step) { return false; }
    for (struct word *word; (word = words_take(&state->words)); count++) {
        if (!give_check(state, step, name, word->text)) { return false; }
    }
    return count || words_fail(&state->words, 0, "%s is given no points: add CHECK=POINTS, like shapes=10", name);
}

/* bands STEP EXERCISE pass=N good=N speed_of_light=N */
static bool read_bands(struct state *state) {
    static const char *const keys[GPU_BANDS] = {"pass", "good", "speed_of_light"};
    const char *name;
    struct step *step = take_exercise(state, &name);
    int points[GPU_BANDS];
    if (!step) { return false; }
    for (int i = 0; i < GPU_BANDS; i++) {
        struct word *word = words_take(&state->words);
        const char *value = word ? word_value(word, keys[i]) : NULL;
        if (!value) {
            return words_fail(&state->words, 0,
                              "bands needs pass=N good=N speed_of_light=N, in this order: %s=N is missing", keys[i]);
        }
        if (!is_points(state, value, &points[i])) { return false; }
    }
    if (points[0] > points[1] || points[1] > points[2] || points[2] == 0) {
        return words_fail(&state->words, 0,
                          "a faster band gives fewer points, or none gives any: let the points increase");
    }
    bool found = false;
    for (struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        struct check *check = exercise_is(exercise, name) ? find_check(exercise, "speed", 5) : NULL;
        if (!check) { continue; }
        found = true;
        memcpy(exercise->bands.points, points, sizeof points);
        if (!give(state, check, points[GPU_BANDS - 1])) { return false; }
    }
    return found ||
           words_fail(&state->words, 0, "%s has no bands: only an exercise with a speed in its lab.conf has", name);
}

/* predictions STEP N */
static bool read_predictions(struct state *state) {
    struct step *step = take_step(state);
    const char *text;
    int points;
    return step && words_take_one(&state->words, &text, "points") && is_points(state, text, &points) &&
           give(state, &step->predictions, points);
}

/* seed N */
static bool read_seed(struct state *state) {
    const char *text;
    char *end;
    if (!words_take_one(&state->words, &text, "a number")) { return false; }
    errno = 0;
    state->conf->seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno) {
        return words_fail(&state->words, 0, "'%s' is no seed: write a number below 2^64", text);
    }
    if (state->conf->has_seed) { return words_fail(&state->words, 0, "the file has two seeds: keep one"); }
    state->conf->has_seed = true;
    return true;
}

/* ---- the file ---- */

static const struct {
    const char *name;
    bool (*read)(struct state *state);
} statements[] = {
    {"points", read_points}, {"bands", read_bands}, {"predictions", read_predictions}, {"seed", read_seed}};

static bool read_statement(struct state *state) {
    const struct word *word = &state->words.word[state->words.at++];
    if (!word->opens) {
        return words_fail(&state->words, word->line, "'%s' is too much here: begin a new line with it, or leave it out",
                          word->text);
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!word->quoted && strcmp(word->text, statements[i].name) == 0) { return statements[i].read(state); }
    }
    return words_fail(&state->words, word->line,
                      "unknown word '%s': a line begins with points, bands, predictions or seed", word->text);
}

bool class_conf_read(const char *path, const char *text, size_t length, struct step *steps, struct class_conf *conf,
                     char *error, size_t error_size) {
    struct state *state = calloc(1, sizeof *state);
    char *copy = malloc(length + 1);
    bool ok = state && copy;
    snprintf(error, error_size, "%s: out of memory", path);
    *conf = (struct class_conf){0};
    if (ok) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        *state = (struct state){
            .words = {.path = path, .error = error, .error_size = error_size}, .steps = steps, .conf = conf};
        ok = words_cut(&state->words, copy, length);
    }
    while (ok && state->words.at < state->words.count) { ok = read_statement(state); }
    if (state) { free(state->words.word); }
    free(state);
    free(copy);
    return ok;
}

bool class_conf_load(const char *path, struct step *steps, struct class_conf *conf, char *error, size_t error_size) {
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LARGEST_FILE) : NULL;
    size_t length = text ? fread(text, 1, LARGEST_FILE, file) : 0;
    bool ok = text && !ferror(file);
    if (!ok) { snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno)); }
    ok = ok && class_conf_read(path, text, length, steps, conf, error, error_size);
    free(text);
    if (file) { fclose(file); }
    return ok;
}

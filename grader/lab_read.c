/* lab_read.c — from the text of a lab's description to struct step, strictly: an unknown word, a value out of range or a
 * name that means nothing is an error, with its line and what to do. The format is documented in docs/lab-conf.md.
 *
 * The text is cut into words; a word at the beginning of a line opens a statement, which goes on to the next such word.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_reader.h"

enum { MAX_LABS = 64, FOLDER_BYTES = 128, PATH_BYTES = 1200, LARGEST_LAB_BYTES = 1 << 20 };

/* ---- questions ---- */

static bool read_unit(struct reader *reader) {
    return words_take_one(reader->words, &reader->question.unit, "a unit, like x or MB");
}

static bool take_number(struct reader *reader, double *number) {
    const char *text, *of = words_last(reader->words);
    return words_take_one(reader->words, &text, "a number") &&
           (word_is_number(text, number) || words_fail(reader->words, 0, "'%s' after %s is no number", text, of));
}

static bool read_range(struct reader *reader) {
    struct question *question = &reader->question;
    return take_number(reader, &question->low) && take_number(reader, &question->high) &&
           (question->low < question->high ||
            words_fail(reader->words, 0, "the range of an answer is LOW HIGH, like 1 100"));
}

static bool read_answer(struct reader *reader) {
    return take_number(reader, &reader->question.truth) &&
           (reader->question.truth > 0.0 || words_fail(reader->words, 0, "an answer is above 0"));
}

static bool read_counted_of(struct reader *reader) {
    return words_take_one(reader->words, &reader->question.counted, "the name of an exercise");
}

static bool read_ask(struct reader *reader) {
    return words_take_text(reader->words, &reader->question.text);
}

static const struct setting question_settings[] = {
    {"unit", read_unit},          {"range", read_range}, {"answer", read_answer},
    {"counted", read_counted_of}, {"ask", read_ask},     {0},
};

/* question KEY SETTINGS */
static bool read_question(struct reader *reader) {
    struct question *question = &reader->question;
    int line = words_line(reader->words);
    reader->words->settings = question_settings;
    *question = (struct question){0};
    if (!words_take_one(reader->words, &question->key, "a key, like softmax_traffic")) { return false; }
    if (!word_is_name(question->key)) {
        return words_fail(reader->words, line, "'%s' is no key: write small letters, digits and _", question->key);
    }
    for (int i = 0; i < reader->question_count; i++) {
        if (strcmp(reader->step->questions[i].key, question->key) == 0) {
            return words_fail(reader->words, line, "there are two questions %s: rename one", question->key);
        }
    }
    if (reader->question_count + 1 == STEP_MAX_QUESTIONS) {
        return words_fail(reader->words, line, "a lab asks at most %d questions", STEP_MAX_QUESTIONS - 1);
    }
    if (!words_settings(reader->words, reader, "a question", question_settings)) { return false; }
    if (!question->unit || !question->text || !words_have(reader->words, "range")) {
        return words_fail(reader->words, line, "the question %s needs a unit, a range and ask", question->key);
    }
    if ((question->truth > 0.0) == (question->counted != NULL)) {
        return words_fail(reader->words, line,
                          "the question %s needs either its answer, or the exercise that it is counted in",
                          question->key);
    }
    if (question->truth > 0.0 && !(question->truth >= question->low && question->truth <= question->high)) {
        return words_fail(reader->words, line, "the answer of %s is outside its range", question->key);
    }
    reader->question_line[reader->question_count] = line;
    reader->step->questions[reader->question_count++] = *question;
    return true;
}

/* ---- scripts ---- */

static const char *const python_endings[] = {".py", NULL};

static bool read_script_title(struct reader *reader) {
    return words_take_text(reader->words, &reader->script.title);
}

static bool read_script_file(struct reader *reader) {
    return words_take_file(reader->words, &reader->script.file, python_endings);
}

static bool read_harness(struct reader *reader) {
    return words_take_file(reader->words, &reader->script.harness, python_endings);
}

static const struct setting script_settings[] = {
    {"title", read_script_title}, {"file", read_script_file}, {"harness", read_harness}, {0}};

/* script NAME SETTINGS */
static bool read_script(struct reader *reader) {
    struct script *script = &reader->script;
    int line = words_line(reader->words);
    reader->words->settings = script_settings;
    *script = (struct script){0};
    if (!words_take_one(reader->words, &script->name, "a name, like debug-integration")) { return false; }
    if (script->name[strspn(script->name, "abcdefghijklmnopqrstuvwxyz0123456789-")]) {
        return words_fail(reader->words, line, "'%s' is no name of a script: write small letters, digits and -",
                          script->name);
    }
    if (script_find(reader->step, script->name)) {
        return words_fail(reader->words, line, "there are two scripts %s: rename one", script->name);
    }
    if (reader->script_count + 1 == STEP_MAX_SCRIPTS) {
        return words_fail(reader->words, line, "a lab has at most %d scripts", STEP_MAX_SCRIPTS - 1);
    }
    if (!words_settings(reader->words, reader, "a script", script_settings)) { return false; }
    if (!script->title || !script->file || !script->harness) {
        return words_fail(reader->words, line, "the script %s needs a title, the learner's file and its harness",
                          script->name);
    }
    reader->step->scripts[reader->script_count++] = *script;
    return true;
}

/* ---- the lab ---- */

static bool read_lab_title(struct reader *reader) {
    reader->words->settings = NULL;
    if (reader->step->title) { return words_fail(reader->words, 0, "the lab has two titles: keep one"); }
    return words_take_text(reader->words, &reader->step->title);
}

/* predictions POINTS */
static bool read_predictions(struct reader *reader) {
    const char *points;
    reader->words->settings = NULL;
    if (reader->step->predictions.kind) {
        return words_fail(reader->words, 0, "predictions is given twice: keep one line");
    }
    reader->step->predictions.kind = CHECK_PREDICTION;
    return words_take_one(reader->words, &points, "its points") &&
           (word_is_whole(points, 0, MOST_POINTS, &reader->step->predictions.points) ||
            words_fail(reader->words, 0, "'%s': points are whole numbers from 0 to %d", points, MOST_POINTS));
}

static const struct setting statements[] = {
    {"title", read_lab_title},   {"predictions", read_predictions}, {"exercise", reader_exercise},
    {"question", read_question}, {"script", read_script},           {0},
};

static bool read_statements(struct reader *reader) {
    while (reader->words->at < reader->words->count) {
        const struct word *word = &reader->words->word[reader->words->at++];
        const struct setting *statement = word->quoted ? NULL : words_setting(statements, word->text);
        if (!word->opens) {
            return words_fail(reader->words, word->line,
                              "'%s' follows a complete statement: begin a new line with it, or leave it out",
                              word->text);
        }
        if (!statement) {
            return words_fail(reader->words, word->line,
                              "unknown word '%s': a line begins with title, predictions, exercise, question or "
                              "script, and what belongs to the line above is indented",
                              word->text);
        }
        if (!statement->read(reader)) { return false; }
    }
    return true;
}

static bool is_exercise_file(const struct step *step, const char *file) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (strcmp(exercise->file, file) == 0) { return true; }
    }
    return false;
}

/* What can be told only of the whole: names that refer to other statements. */
static bool check_lab(struct reader *reader) {
    const struct step *step = reader->step;

    if (!step->title) {
        return words_fail(reader->words, 0, "the lab has no title: add a line like title \"naive kernels\"");
    }
    if (!step->predictions.kind) { return words_fail(reader->words, 0, "the line predictions POINTS is missing"); }
    if (!reader->exercise_count) { return words_fail(reader->words, 0, "the lab has no exercise"); }
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++) {
            if (!is_exercise_file(step, exercise->parts[i])) {
                return words_fail(reader->words, reader->exercise_line[exercise - step->exercises],
                                  "%s is linked with %s, which is the file of no exercise here", exercise->op,
                                  exercise->parts[i]);
            }
        }
    }
    for (const struct question *question = step->questions; question->key; question++) {
        const struct exercise *exercise = question->counted ? exercise_find(step, question->counted) : NULL;
        bool has_figure =
            exercise && (exercise_check(exercise, CHECK_TRAFFIC) || exercise_check(exercise, CHECK_LAUNCHES));
        if (question->counted && !has_figure) {
            return words_fail(reader->words, reader->question_line[question - step->questions],
                              "the question %s is counted in '%s', which is no exercise with traffic or launches",
                              question->key, question->counted);
        }
    }
    return true;
}

/* "step1" of "step1_naive"; both lie before the text in the step's memory. */
static char *copy_text(struct step *step, const char *folder, const char *text, size_t length) {
    size_t folder_bytes = strlen(folder) + 1, name_length = strcspn(folder, "_");
    char *memory = malloc(folder_bytes + name_length + 1 + length + 1);
    if (!memory) { return NULL; }
    char *name = memory + folder_bytes, *copy = name + name_length + 1;
    memcpy(memory, folder, folder_bytes);
    memcpy(name, folder, name_length);
    name[name_length] = '\0';
    memcpy(copy, text, length);
    copy[length] = '\0';
    *step = (struct step){.name = name, .folder = memory, .memory = memory};
    return copy;
}

bool lab_read(const char *folder, const char *path, const char *text, size_t length, struct step *step, char *error,
              size_t error_size) {
    char *copy = copy_text(step, folder, text, length);
    struct words words = {.path = path, .error = error, .error_size = error_size};
    struct reader *reader = calloc(1, sizeof *reader);
    bool ok = copy && reader;
    if (ok) {
        reader->step = step;
        reader->words = &words;
        ok = words_cut(&words, copy, length) && read_statements(reader) && check_lab(reader);
    } else {
        snprintf(error, error_size, "%s: out of memory", path);
    }
    free(words.word);
    free(reader);
    if (!ok) { lab_free(step); }
    return ok;
}

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

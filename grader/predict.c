#include "predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"
#include "profile.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 256, PROBLEM_BYTES = 256 };

int predict_question_count(const struct step *step) {
    int count = 0;
    while (count < STEP_MAX_QUESTIONS && step->questions[count].key) { count++; }
    return count;
}

static void file_path(char *path, const char *folder) {
    snprintf(path, PATH_BYTES, "%s/%s", folder, PREDICTIONS_FILE);
}

/* ---- an answer and its unit ---- */

enum measure { RATIO, MEMORY, RATE, NUMBER };

/* One of a kind is `factor` of the kind's first. */
static const struct unit {
    const char *name;
    enum measure kind;
    double factor;
} units[] = {
    {"x", RATIO, 1},
    {"times", RATIO, 1},
    {"\xc3\x97", RATIO, 1},
    {"%", RATIO, 0.01},
    {"percent", RATIO, 0.01},
    {"byte", MEMORY, 1},
    {"bytes", MEMORY, 1},
    {"B", MEMORY, 1},
    {"KB", MEMORY, 1e3},
    {"kB", MEMORY, 1e3},
    {"MB", MEMORY, 1e6},
    {"GB", MEMORY, 1e9},
    {"TB", MEMORY, 1e12},
    {"KiB", MEMORY, 1024},
    {"MiB", MEMORY, 1024.0 * 1024},
    {"GiB", MEMORY, 1 << 30},
    {"tokens/s", RATE, 1},
    {"token/s", RATE, 1},
    {"tokens a second", RATE, 1},
    {"tokens per second", RATE, 1},
};

static const char *const kind_names[] = {"a ratio", "an amount of memory", "tokens per second", "a number"};
static const char *const kind_examples[] = {"2.5x, 2.5 times or 250%", "12 bytes, 8 KB or 8 MB", "100 tokens/s", ""};

/* NULL: the table has none of this name. */
static const struct unit *find_unit(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0) { return &units[i]; }
    }
    return NULL;
}

/* "launch" or "launches", for a question whose unit is launches. */
static bool is_own_unit(const struct question *question, const char *name, size_t length) {
    size_t own = strlen(question->unit);
    bool begins = length > 0 && length <= own && strncmp(question->unit, name, length) == 0;
    const char *rest = question->unit + length;
    return begins && (!*rest || strcmp(rest, "s") == 0 || strcmp(rest, "es") == 0);
}

static const char *space_before(const char *unit) {
    return strlen(unit) > 1 ? " " : ""; /* 16x, but 3 loads */
}

/* Writes into `why` how an answer to this question looks. */
static bool refuse(const struct question *question, const char *line, size_t length, const char *problem, char *why,
                   size_t why_size) {
    const struct unit *unit = find_unit(question->unit, strlen(question->unit));
    enum measure kind = unit ? unit->kind : NUMBER;
    const char *space = space_before(question->unit);
    snprintf(why, why_size, "'%.*s' %s: type a number from %g%s%s to %g%s%s%s%s", (int)(length < 40 ? length : 40),
             line, problem, question->low, space, question->unit, question->high, space, question->unit,
             kind == NUMBER ? "" : ", like ", kind_examples[kind]);
    return false;
}

bool predict_parse(const struct question *question, const char *line, double *answer, char *why, size_t why_size) {
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r\n", line[length - 1])) { length--; }
    char *end;
    errno = 0;
    double value = strtod(line, &end);
    size_t digits = (size_t)(end - line);
    bool is_number = digits > 0 && digits <= length && !errno && isfinite(value) && !memchr(line, 'x', digits) &&
                     !memchr(line, 'X', digits); /* 0x10 */
    if (!is_number) { return refuse(question, line, length, "is no number", why, why_size); }
    const char *name = line + digits + strspn(line + digits, " \t");
    size_t name_length = (size_t)(line + length - name);
    const struct unit *given = find_unit(name, name_length), *asked = find_unit(question->unit, strlen(question->unit));
    if (name_length > 0 && !is_own_unit(question, name, name_length)) {
        char problem[96];
        if (!given && strchr(",.-'", name[0])) {
            return refuse(question, line, length, "is not one number, with a point before its decimals", why, why_size);
        }
        if (!given) { return refuse(question, line, length, "has an unknown unit", why, why_size); }
        if (!asked || asked->kind != given->kind) {
            snprintf(problem, sizeof problem, "is %s, and the question asks for %s", kind_names[given->kind],
                     asked ? kind_names[asked->kind] : question->unit);
            return refuse(question, line, length, problem, why, why_size);
        }
        value *= given->factor / asked->factor;
    }
    if (!(value >= question->low && value <= question->high)) {
        char problem[96];
        snprintf(problem, sizeof problem, "is %g%s%s, which is not plausible", value, space_before(question->unit),
                 question->unit);
        return refuse(question, line, length, problem, why, why_size);
    }
    *answer = value;
    return true;
}

/* ---- the file ---- */

static void read_line(const struct step *step, const char *line, struct prediction *prediction) {
    char key[64], value[64], why[PROBLEM_BYTES];
    int rest = 0;
    if (line[0] == '#' || sscanf(line, "%63s %n%63s", key, &rest, value) != 2) { return; }
    if (strcmp(key, "predicted") == 0) { snprintf(prediction->time, sizeof prediction->time, "%.31s", value); }
    const struct exercise *exercise = strcmp(key, "measured") == 0 ? exercise_find(step, value) : NULL;
    prediction->is_measured = prediction->is_measured || exercise;
    for (int i = 0; i < predict_question_count(step); i++) {
        const struct question *question = &step->questions[i];
        if (strcmp(question->key, key) == 0 &&
            !predict_parse(question, line + rest, &prediction->answer[i], why, sizeof why) && !prediction->problem[0]) {
            snprintf(prediction->problem, sizeof prediction->problem, PREDICTIONS_FILE ": %s: %s", key, why);
        }
        if (exercise && (!question->counted || exercise_is(exercise, question->counted))) {
            prediction->is_fixed[i] = true;
        }
    }
}

void predict_load(const struct step *step, const char *folder, struct prediction *prediction) {
    char path[PATH_BYTES], line[LINE_BYTES];
    *prediction = (struct prediction){0};
    for (int i = 0; i < STEP_MAX_QUESTIONS; i++) { prediction->answer[i] = NAN; }
    file_path(path, folder);
    FILE *file = fopen(path, "r");
    if (!file) { return; }
    while (fgets(line, sizeof line, file)) { read_line(step, line, prediction); }
    fclose(file);
    for (int i = 0; i < predict_question_count(step); i++) {
        const struct question *question = &step->questions[i];
        if (!isnan(prediction->answer[i])) { continue; }
        if (prediction->problem[0]) { return; }
        snprintf(prediction->problem, sizeof prediction->problem, PREDICTIONS_FILE ": no answer to %s (%g to %g %s)",
                 question->key, question->low, question->high, question->unit);
        return;
    }
    prediction->problem[0] = '\0';
    if (prediction->time[0] == '\0') {
        snprintf(prediction->problem, sizeof prediction->problem,
                 PREDICTIONS_FILE ": the line `predicted TIME` is missing");
        return;
    }
    prediction->made = true;
}

static void time_now(char when[32]) {
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* Copies the lines that say what was measured. */
static void keep_measured(FILE *to, const char *path) {
    char line[LINE_BYTES];
    FILE *from = fopen(path, "r");
    while (from && fgets(line, sizeof line, from)) {
        if (strncmp(line, "measured ", strlen("measured ")) == 0) { fputs(line, to); }
    }
    if (from) { fclose(from); }
}

/* Into a new file, which then replaces the old one: a full disk loses no answer. */
static bool store(const struct step *step, const char *folder, const double *answers, char *error, size_t error_size) {
    char path[PATH_BYTES], new_path[PATH_BYTES + 4], when[32];
    file_path(path, folder);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    time_now(when);
    FILE *file = fopen(new_path, "w");
    if (!file) {
        snprintf(error, error_size, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    fprintf(file, "# Predictions for %s (%s), made before the first measurement.\n", step->name, step->title);
    fprintf(file, "predicted %s\n", when);
    for (int i = 0; i < predict_question_count(step); i++) {
        fprintf(file, "%s %g\n", step->questions[i].key, answers[i]);
    }
    keep_measured(file, path);
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    if (written && rename(new_path, path) == 0) { return true; }
    snprintf(error, error_size, "cannot write %s: %s", path, strerror(errno));
    remove(new_path);
    return false;
}

/* ---- what was measured ---- */

bool predict_is_figure(const struct outcome *outcome) {
    const struct check *traffic = exercise_check(outcome->exercise, CHECK_TRAFFIC);
    return outcome->check->kind == (traffic ? CHECK_TRAFFIC : CHECK_LAUNCHES) && outcome->figure > 0.0;
}

static bool is_noted(const char *path, const char *launcher) {
    char line[LINE_BYTES], name[64];
    bool noted = false;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        noted = noted || (sscanf(line, "measured %63s", name) == 1 && strcmp(name, launcher) == 0);
    }
    if (file) { fclose(file); }
    return noted;
}

void predict_note_measured(const struct report *report, const char *folder) {
    char path[PATH_BYTES], launcher[64], when[32];
    file_path(path, folder);
    time_now(when);
    for (int i = 0; i < report->outcome_count; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        if (!outcome->exercise || !predict_is_figure(outcome)) { continue; }
        op_launcher_name(op_find(outcome->exercise->op), outcome->exercise->type, launcher, sizeof launcher);
        if (is_noted(path, launcher)) { continue; }
        FILE *file = fopen(path, "r+");
        if (!file) { return; }
        bool ends_line = fseek(file, -1, SEEK_END) != 0 || fgetc(file) == '\n';
        fseek(file, 0, SEEK_END);
        fprintf(file, "%smeasured %s %s\n", ends_line ? "" : "\n", launcher, when);
        fclose(file);
    }
}

/* ---- the questions ---- */

/* Prints the text in lines of at most 96 characters. */
static void print_wrapped(FILE *out, const char *text) {
    enum { WIDTH = 96 };
    while (*text) {
        size_t length = strlen(text), cut = length;
        if (length > WIDTH) {
            cut = WIDTH;
            while (cut > 0 && text[cut] != ' ') { cut--; }
            if (cut == 0) { cut = WIDTH; }
        }
        fprintf(out, "   %.*s\n", (int)cut, text);
        text += cut;
        while (*text == ' ') { text++; }
    }
}

/* Asks until there is an answer. `*answer`: the one so far, or NaN; an empty line keeps it. False: the input has ended. */
static bool ask(const struct question *question, int number, FILE *in, FILE *out, bool typed, double *answer) {
    char line[LINE_BYTES], why[PROBLEM_BYTES];
    const char *space = space_before(question->unit);
    fprintf(out, "%d.", number);
    print_wrapped(out, question->text);
    if (!isnan(*answer)) { fprintf(out, "   so far: %g%s%s\n", *answer, space, question->unit); }
    while (true) {
        if (typed) {
            fprintf(out, "   [%s] > ", question->unit);
            fflush(out);
        }
        if (!fgets(line, sizeof line, in)) { return false; }
        if ((!isnan(*answer) && line[strspn(line, " \t\r\n")] == '\0') ||
            predict_parse(question, line, answer, why, sizeof why)) {
            fprintf(out, "%s", typed ? "\n" : "");
            return true;
        }
        fprintf(out, "   %s\n", why);
    }
}

static void show(const struct question *question, int number, double answer, FILE *out) {
    fprintf(out, "%d.", number);
    print_wrapped(out, question->text);
    fprintf(out, "   %g%s%s, measured since: it stays\n\n", answer, space_before(question->unit), question->unit);
}

/* Of a prediction that is made: questions without a measurement can be answered again. */
static bool correct(const struct step *step, const char *folder, const struct prediction *prediction, FILE *in,
                    FILE *out, bool typed, char *error, size_t error_size) {
    int count = predict_question_count(step), changed = 0, fixed = 0;
    double answers[STEP_MAX_QUESTIONS];
    bool ended = false;
    for (int i = 0; i < count; i++) { fixed += prediction->is_fixed[i]; }
    fprintf(out, "Predictions for %s, made %s.\n", step->name, prediction->time);
    fprintf(out, "%s\n\n",
            fixed == count ? "All of them are measured, so they stay."
                           : "What is not yet measured you may correct. An empty line keeps an answer.");
    for (int i = 0; i < count; i++) {
        answers[i] = prediction->answer[i];
        if (prediction->is_fixed[i]) {
            show(&step->questions[i], i + 1, answers[i], out);
        } else if (!ended) {
            ended = !ask(&step->questions[i], i + 1, in, out, typed, &answers[i]);
        }
        changed += answers[i] != prediction->answer[i];
    }
    if (changed && !store(step, folder, answers, error, error_size)) { return false; }
    if (fixed < count) { fprintf(out, "%d answer%s changed.\n", changed, changed == 1 ? "" : "s"); }
    return true;
}

bool predict_ask(const struct step *step, const char *folder, FILE *in, FILE *out, bool typed, char *error,
                 size_t error_size) {
    struct prediction prediction;
    double answers[STEP_MAX_QUESTIONS];
    predict_load(step, folder, &prediction);
    profile_print(out);
    if (prediction.made) { return correct(step, folder, &prediction, in, out, typed, error, error_size); }
    int count = predict_question_count(step);
    fprintf(out,
            "%d questions, worth %d points for having predicted; a wrong guess costs nothing. Until the first\n"
            "measurement you may correct an answer: the same command asks again.\n\n",
            count, step->predictions.points);
    for (int i = 0; i < count; i++) {
        answers[i] = NAN;
        if (ask(&step->questions[i], i + 1, in, out, typed, &answers[i])) { continue; }
        snprintf(error, error_size, "the input ended before question %d of %d; nothing was stored", i + 1, count);
        return false;
    }
    if (!store(step, folder, answers, error, error_size)) { return false; }
    fprintf(out, "Stored in %s/" PREDICTIONS_FILE ".\n", folder);
    return true;
}

void predict_score(const struct step *step, const struct prediction *prediction, struct outcome *outcome) {
    *outcome = (struct outcome){.check = &step->predictions};
    outcome->verdict = prediction->made ? VERDICT_PASS : VERDICT_WAITING;
    outcome->points = prediction->made ? step->predictions.points : 0.0;
    if (prediction->made) {
        snprintf(outcome->measured, sizeof outcome->measured, "made %s", prediction->time);
    } else if (prediction->problem[0]) {
        snprintf(outcome->measured, sizeof outcome->measured, "%.95s", prediction->problem);
    } else {
        snprintf(outcome->measured, sizeof outcome->measured, "./grader %s --predict", step->name);
    }
}

#include "predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"
#include "profile.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 256 };

int predict_question_count(const struct step *step) {
    int count = 0;
    while (count < STEP_MAX_QUESTIONS && step->questions[count].key) { count++; }
    return count;
}

static void file_path(char *path, const char *folder) {
    snprintf(path, PATH_BYTES, "%s/%s", folder, PREDICTIONS_FILE);
}

bool predict_parse(const struct question *question, const char *line, double *answer) {
    char *end;
    errno = 0;
    double value = strtod(line, &end);
    if (end == line || errno || !isfinite(value)) { return false; }
    if (*end && !strchr(" \t\r\nx%", *end)) { return false; } /* "1,9" is not 1 */
    if (!(value >= question->low && value <= question->high)) { return false; }
    *answer = value;
    return true;
}

static void read_line(const struct step *step, const char *line, struct prediction *prediction) {
    char key[64], value[64];
    if (line[0] == '#' || sscanf(line, "%63s %63s", key, value) != 2) { return; }
    if (strcmp(key, "predicted") == 0) { snprintf(prediction->time, sizeof prediction->time, "%.31s", value); }
    for (int i = 0; i < predict_question_count(step); i++) {
        if (strcmp(step->questions[i].key, key) == 0) {
            predict_parse(&step->questions[i], value, &prediction->answer[i]);
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
        snprintf(prediction->problem, sizeof prediction->problem,
                 PREDICTIONS_FILE ": no plausible answer to %s (%g to %g %s)", question->key, question->low,
                 question->high, question->unit);
        return;
    }
    if (prediction->time[0] == '\0') {
        snprintf(prediction->problem, sizeof prediction->problem,
                 PREDICTIONS_FILE ": the line `predicted TIME` is missing");
        return;
    }
    prediction->made = true;
}

static bool store(const struct step *step, const char *folder, const double *answers, char *error, size_t error_size) {
    char path[PATH_BYTES], when[32];
    time_t now = time(NULL);
    struct tm utc;
    file_path(path, folder);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    FILE *file = fopen(path, "w");
    if (!file) {
        snprintf(error, error_size, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    fprintf(file, "# Predictions for %s (%s), made before the first measurement.\n", step->name, step->title);
    fprintf(file, "predicted %s\n", when);
    for (int i = 0; i < predict_question_count(step); i++) {
        fprintf(file, "%s %g\n", step->questions[i].key, answers[i]);
    }
    if (fclose(file) == 0) { return true; }
    snprintf(error, error_size, "cannot write %s: %s", path, strerror(errno));
    return false;
}

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

static bool ask(const struct question *question, int number, FILE *in, FILE *out, bool typed, double *answer) {
    char line[LINE_BYTES];
    fprintf(out, "%d.", number);
    print_wrapped(out, question->text);
    while (true) {
        if (typed) {
            fprintf(out, "   [%s] > ", question->unit);
            fflush(out);
        }
        if (!fgets(line, sizeof line, in)) { return false; }
        if (predict_parse(question, line, answer)) {
            fprintf(out, "%s", typed ? "\n" : "");
            return true;
        }
        fprintf(out, "   please type a number from %g to %g (in %s)\n", question->low, question->high, question->unit);
    }
}

static void show(const struct step *step, const struct prediction *prediction, FILE *out) {
    fprintf(out, "Predictions for %s, made %s:\n\n", step->name, prediction->time);
    for (int i = 0; i < predict_question_count(step); i++) {
        fprintf(out, "%d.", i + 1);
        print_wrapped(out, step->questions[i].text);
        fprintf(out, "   %g %s\n\n", prediction->answer[i], step->questions[i].unit);
    }
}

bool predict_ask(const struct step *step, const char *folder, FILE *in, FILE *out, bool typed, char *error,
                 size_t error_size) {
    struct prediction prediction;
    double answers[STEP_MAX_QUESTIONS];
    predict_load(step, folder, &prediction);
    profile_print(out);
    if (prediction.made) {
        show(step, &prediction, out);
        return true;
    }
    int count = predict_question_count(step);
    fprintf(out, "%d questions, worth %d points for having predicted; a wrong guess costs nothing.\n\n", count,
            step->predictions.points);
    for (int i = 0; i < count; i++) {
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

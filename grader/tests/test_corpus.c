/* corpus: the built grader over real .cu files. Every file of wrong/ must fail with the diagnosis that its first line names,
 * every file of right/ must pass all correctness checks.
 *
 *   // step: step1  op: softmax_forward  diagnosis: softmax-no-max
 *   // reason: why such a kernel must be failed
 */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labs.h"

TestSuite(corpus, .timeout = 240);

enum { MAX_FILES = 512, NAME_BYTES = 96, PATH_BYTES = 512 };

static char names[MAX_FILES][NAME_BYTES];

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static int list_files(const char *folder) {
    int count = 0;
    DIR *entries = opendir(folder);
    cr_assert(entries, "no folder %s: run this from the root", folder);
    for (struct dirent *entry; (entry = readdir(entries)) && count < MAX_FILES;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".cu") == 0) { snprintf(names[count++], NAME_BYTES, "%.95s", entry->d_name); }
    }
    closedir(entries);
    qsort(names, (size_t)count, NAME_BYTES, by_name);
    return count;
}

struct header {
    char step[32], op[64], diagnosis[64];
};

static void field(const char *line, const char *key, char *value, size_t size) {
    const char *at = strstr(line, key);
    value[0] = '\0';
    if (at) { snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), " \n"), at + strlen(key)); }
}

static struct header read_header(const char *path) {
    struct header header;
    char line[256] = "";
    FILE *file = fopen(path, "r");
    cr_assert(file && fgets(line, sizeof line, file), "cannot read %s", path);
    fclose(file);
    field(line, "step: ", header.step, sizeof header.step);
    field(line, "op: ", header.op, sizeof header.op);
    field(line, "diagnosis: ", header.diagnosis, sizeof header.diagnosis);
    return header;
}

static void shell(const char *format, ...) {
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    int status = system(command);
    cr_assert(status != -1 && WEXITSTATUS(status) != 127, "cannot run: %s", command);
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) { return NULL; }
    char *text = calloc(1, 1 << 20);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

/* Marks one file in a folder of its own, as the exercise's file, and returns the JSON report. */
static cJSON *mark(const char *folder, const char *name, const struct header *header) {
    const struct step *step = lab(header->step);
    cr_assert(step, "%s: unknown step '%s'", name, header->step);
    const struct exercise *exercise = exercise_find(step, header->op);
    cr_assert(exercise, "%s: unknown op '%s'", name, header->op);
    char place[PATH_BYTES], json[PATH_BYTES + 16];
    snprintf(place, sizeof place, "%s/corpus/%s", TEST_BUILD, name);
    snprintf(json, sizeof json, "%s/report.json", place);
    shell("mkdir -p %s && rm -f %s && cp -u %s/%s %s/%s", place, json, folder, name, place, exercise->file);
    /* what it includes and is linked with; its own file is there already */
    shell("for f in %s/solution/*.cu* %s/solution/predictions.txt; do [ ! -f \"$f\" ] || [ \"${f##*/}\" = %s ] || "
          "cp -u \"$f\" %s/; done",
          step->folder, step->folder, exercise->file, place);
    /* those are compiled already, for the ladders */
    shell("mkdir -p %s/build/obj && for f in %s/ladders/%s/obj/*.o; do n=${f##*/}; [ ! -f \"$f\" ] || [ "
          "\"${n%%.o}.cu\" = %s ] || "
          "cp -u \"$f\" %s/build/obj/; done",
          place, TEST_BUILD, step->folder, exercise->file, place);
    shell("timeout -s KILL 200 %s/grader/grader %s --backend cpu --kernel %s --files %s --out %s/build --seed 7 --json "
          "%s "
          "> %s/report.txt 2>&1",
          TEST_BUILD, header->step, header->op, place, place, json, place);
    char *text = read_all(json);
    cr_assert(text, "%s: the grader wrote no report; see %s/report.txt", name, place);
    cJSON *report = cJSON_Parse(text);
    cr_assert(report, "%s: %s is no JSON", name, json);
    free(text);
    return report;
}

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "";
}

/* The first outcome that failed, or NULL. */
static const cJSON *failed_outcome(const cJSON *report) {
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(report, "outcomes")) {
        if (strcmp(text_of(outcome, "verdict"), "FAIL") == 0) { return outcome; }
    }
    return NULL;
}

static struct criterion_test_params indices(int count) {
    static int index[MAX_FILES];
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

static const char wrong[] = "grader/tests/wrong", right[] = "grader/tests/right";

Test(corpus, is_there) {
    cr_assert(list_files(wrong) >= 90);
    cr_assert(list_files(right) >= 20);
}

ParameterizedTestParameters(corpus, wrong_kernels_fail_with_their_diagnosis) {
    return indices(list_files(wrong));
}

ParameterizedTest(int *index, corpus, wrong_kernels_fail_with_their_diagnosis) {
    list_files(wrong);
    const char *name = names[*index];
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", wrong, name);
    struct header header = read_header(path);
    cr_assert(header.diagnosis[0], "%s names no diagnosis", name);
    cJSON *report = mark(wrong, name, &header);
    const cJSON *outcome = failed_outcome(report);
    cr_assert(outcome, "%s was not failed", name);
    const cJSON *failure = cJSON_GetObjectItem(outcome, "failure");
    cr_assert(strcmp(text_of(failure, "diagnosis"), header.diagnosis) == 0,
              "%s: check %s says '%s', not '%s' (N %g, C %g, %s; %s)", name, text_of(outcome, "check"),
              text_of(failure, "diagnosis"), header.diagnosis, cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "N")),
              cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "C")), text_of(failure, "values"),
              text_of(failure, "message"));
    cJSON_Delete(report);
}

ParameterizedTestParameters(corpus, right_kernels_pass) {
    return indices(list_files(right));
}

ParameterizedTest(int *index, corpus, right_kernels_pass) {
    list_files(right);
    const char *name = names[*index];
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", right, name);
    struct header header = read_header(path);
    cJSON *report = mark(right, name, &header);
    int passed = 0;
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(report, "outcomes")) {
        const cJSON *failure = cJSON_GetObjectItem(outcome, "failure");
        const char *check = text_of(outcome, "check");
        bool counted =
            strcmp(check, "traffic") == 0 || strcmp(check, "launches") == 0 || strcmp(check, "parallelism") == 0;
        cr_assert(counted || strcmp(text_of(outcome, "verdict"), "pass") == 0, "%s: %s: %s (N %g, C %g, %s; %s)", name,
                  check, text_of(outcome, "verdict"), cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "N")),
                  cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "C")), text_of(failure, "values"),
                  text_of(failure, "message"));
        passed += !counted;
    }
    cr_assert_eq(passed, 4, "%s: %d correctness checks", name, passed);
    cJSON_Delete(report);
}

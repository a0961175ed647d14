/* corpus: the built grader marks real .cu files, those of common/ops/OP/tests. Every kernel in wrong/ must fail with the
 * diagnosis that its first line names; every kernel in right/ must pass all correctness checks. tools/corpus says what such
 * a file looks like. By default one wrong kernel is marked for each diagnosis and two right ones for each op; with
 * TEST_ALL=1 in the environment, all of them are.
 */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnose.h"
#include "labs.h"

TestSuite(corpus, .timeout = 700);

enum { MAX_KERNELS = 1024, PATH_BYTES = 512 };

/* The corpus only grows: raise these with it. */
enum { WRONG_KERNELS = 429, RIGHT_KERNELS = 88 };

struct kernel {
    char path[PATH_BYTES], name[PATH_BYTES]; /* name: op/wrong/no_max */
    char folder[64];                         /* in common/ops */
    /* of its first line: op with a type where the op has several; other: a second cause, equally likely */
    char step[32], op[64], diagnosis[64], other[64];
};

static void field(const char *line, const char *key, char *value, size_t size) {
    const char *at = strstr(line, key);
    value[0] = '\0';
    if (at) { snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), " \n"), at + strlen(key)); }
}

static struct kernel read_kernel(const char *path) {
    struct kernel kernel = {0};
    char line[256] = "", verdict[16], file[128];
    FILE *opened = fopen(path, "r");
    cr_assert(opened && fgets(line, sizeof line, opened), "cannot read %s", path);
    fclose(opened);
    cr_assert(sscanf(path, "common/ops/%63[^/]/tests/%15[^/]/%127[^.]", kernel.folder, verdict, file) == 3, "%s", path);
    snprintf(kernel.path, sizeof kernel.path, "%s", path);
    snprintf(kernel.name, sizeof kernel.name, "%s/%s/%s", kernel.folder, verdict, file);
    field(line, "step: ", kernel.step, sizeof kernel.step);
    field(line, "op: ", kernel.op, sizeof kernel.op);
    field(line, "diagnosis: ", kernel.diagnosis, sizeof kernel.diagnosis);
    field(line, "other: ", kernel.other, sizeof kernel.other);
    return kernel;
}

/* The kernels that `tools/corpus WHICH VERDICT` names. */
static struct kernel *list_kernels(const char *which, const char *verdict, size_t *count) {
    static struct kernel kernels[MAX_KERNELS];
    char line[PATH_BYTES];
    snprintf(line, sizeof line, "BUILD=%s tools/corpus %s %s", TEST_BUILD, which, verdict);
    FILE *listed = popen(line, "r");
    cr_assert(listed, "cannot run: %s", line);
    for (*count = 0; fgets(line, sizeof line, listed);) {
        cr_assert(*count < MAX_KERNELS, "more than %d kernels", MAX_KERNELS);
        line[strcspn(line, "\n")] = '\0';
        kernels[(*count)++] = read_kernel(line);
    }
    cr_assert(pclose(listed) == 0 && *count > 0, "tools/corpus %s %s: are you in the root?", which, verdict);
    return kernels;
}

static struct criterion_test_params chosen(const char *verdict) {
    size_t count;
    struct kernel *kernels = list_kernels(getenv("TEST_ALL") ? "list" : "quick", verdict, &count);
    return cr_make_param_array(struct kernel, kernels, count);
}

static int shell(const char *format, ...) {
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    cr_assert(length < (int)sizeof command);
    int status = system(command);
    cr_assert(status != -1 && WEXITSTATUS(status) != 127, "cannot run: %s", command);
    return WEXITSTATUS(status);
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

/* Marks the kernel in a folder of its own, as the exercise's file, and returns the JSON report. */
static cJSON *mark(const struct kernel *kernel) {
    const struct step *step = lab(kernel->step);
    cr_assert(step, "%s: unknown step '%s'", kernel->path, kernel->step);
    cr_assert(exercise_find(step, kernel->op), "%s: unknown op '%s'", kernel->path, kernel->op);
    char place[2 * PATH_BYTES], path[2 * PATH_BYTES + 32];
    snprintf(place, sizeof place, "%s/corpus/%s", TEST_BUILD, kernel->name);
    snprintf(path, sizeof path, "%s/place.log", place);
    int status = shell("mkdir -p %s && rm -f %s/report.json && BUILD=%s tools/corpus prepare %s 2>%s", place, place,
                       TEST_BUILD, kernel->path, path);
    char *text = read_all(path);
    cr_assert(status == 0, "%s", text);
    free(text);
    shell("timeout -s KILL 600 %s/grader/grader %s --backend cpu --kernel %s --files %s/lab --out %s/build --seed 7 "
          "--json %s/report.json > %s/report.txt 2>&1",
          TEST_BUILD, kernel->step, kernel->op, place, place, place, place);
    snprintf(path, sizeof path, "%s/report.json", place);
    text = read_all(path);
    cr_assert(text, "%s: the grader wrote no report; see %s/report.txt", kernel->path, place);
    cJSON *report = cJSON_Parse(text);
    cr_assert(report, "%s: %s is no JSON", kernel->path, path);
    free(text);
    return report;
}

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "";
}

/* The first outcome that did not pass, or NULL: traffic may cost a part of its points only. */
static const cJSON *failed_outcome(const cJSON *report) {
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(report, "outcomes")) {
        const char *verdict = text_of(outcome, "verdict");
        if (strcmp(verdict, "FAIL") == 0 || strcmp(verdict, "partly") == 0) { return outcome; }
    }
    return NULL;
}

/* For tools/diagnoses: the sentence, and whether it is a cause, one of two, or a fact. */
static void record(const struct kernel *kernel, const cJSON *failure) {
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/corpus/%s/said", TEST_BUILD, kernel->name);
    FILE *said = fopen(path, "w");
    bool is_pair = text_of(failure, "other_cause")[0];
    const char *cause = text_of(failure, "cause"), *kind = is_pair ? "one of two causes" : cause[0] ? "cause" : "fact";
    cr_assert(said, "cannot write %s", path);
    fprintf(said, "%s | %s%s%s\n", kind, cause[0] ? cause : text_of(failure, "fact"), is_pair ? "; or: " : "",
            text_of(failure, "other_cause"));
    fclose(said);
}

ParameterizedTestParameters(corpus, wrong_kernels_fail_with_their_diagnosis) {
    return chosen("wrong");
}

ParameterizedTest(struct kernel *kernel, corpus, wrong_kernels_fail_with_their_diagnosis) {
    cr_assert(kernel->diagnosis[0], "%s names no diagnosis", kernel->path);
    cJSON *report = mark(kernel);
    const cJSON *outcome = failed_outcome(report);
    cr_assert(outcome, "%s was not failed", kernel->path);
    const cJSON *failure = cJSON_GetObjectItem(outcome, "failure");
    record(kernel, failure);
    cr_assert(strcmp(text_of(failure, "diagnosis"), kernel->diagnosis) == 0,
              "%s: check %s says '%s', not '%s' (N %g, C %g, %s; %s)", kernel->path, text_of(outcome, "check"),
              text_of(failure, "diagnosis"), kernel->diagnosis, cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "N")),
              cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "C")), text_of(failure, "values"),
              text_of(failure, "message"));
    cr_assert_str_eq(text_of(failure, "other_diagnosis"), kernel->other, "%s", kernel->path);
    cJSON_Delete(report);
}

ParameterizedTestParameters(corpus, right_kernels_pass) {
    return chosen("right");
}

ParameterizedTest(struct kernel *kernel, corpus, right_kernels_pass) {
    cJSON *report = mark(kernel);
    int passed = 0;
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(report, "outcomes")) {
        const cJSON *failure = cJSON_GetObjectItem(outcome, "failure");
        const char *check = text_of(outcome, "check");
        bool counted = strcmp(check, "traffic") == 0 || strcmp(check, "launches") == 0 ||
                       strcmp(check, "barriers") == 0 || strcmp(check, "parallelism") == 0;
        cr_assert(counted || strcmp(text_of(outcome, "verdict"), "pass") == 0, "%s: %s: %s (N %g, C %g, %s; %s)",
                  kernel->path, check, text_of(outcome, "verdict"),
                  cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "N")),
                  cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "C")), text_of(failure, "values"),
                  text_of(failure, "message"));
        passed += !counted;
    }
    cr_assert_eq(passed, 4, "%s: %d correctness checks", kernel->path, passed);
    cJSON_Delete(report);
}

/* ---- the corpus itself ---- */

Test(corpus, every_exercise_has_a_wrong_kernel) {
    size_t count;
    const struct kernel *kernels = list_kernels("list", "wrong", &count);
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            bool has = false;
            for (size_t i = 0; i < count; i++) { has = has || strcmp(kernels[i].folder, exercise->op) == 0; }
            cr_assert(has, "common/ops/%s/tests/wrong is empty", exercise->op);
        }
    }
}

/* Each record names a wrong kernel that makes the mistake, and that kernel names the mistake. Further forms of a mistake, which
 * have no cause, share the kernel of its record. */
Test(corpus, every_mistake_has_a_wrong_kernel) {
    struct diagnosis_place place = {0, 0};
    size_t count;
    const struct kernel *kernels = list_kernels("list", "wrong", &count);
    for (const struct op_mistake *mistake; (mistake = diagnosis_next(&place));) {
        bool found = false;
        if (!mistake->cause) { continue; }
        /* A machine may need as long for 4 GiB as for an endless loop. A lab's file cannot name the grader's connection. All
         * three are tested with hostile programs, in test_spawn.c and test_job.c. */
        bool tested_apart = strcmp(mistake->id, "too-much-memory") == 0 || strcmp(mistake->id, "forged-answer") == 0 ||
                            strcmp(mistake->id, "connection-closed") == 0;
        if (tested_apart) {
            cr_assert_null(mistake->kernel);
            continue;
        }
        cr_assert(mistake->kernel, "%s names no wrong kernel", mistake->id);
        for (size_t i = 0; i < count; i++) {
            char name[PATH_BYTES];
            snprintf(name, sizeof name, "%s/%s", kernels[i].folder, strrchr(kernels[i].name, '/') + 1);
            if (strcmp(name, mistake->kernel) != 0) { continue; }
            found = true;
            cr_assert_str_eq(kernels[i].diagnosis, mistake->id, "%s", kernels[i].path);
        }
        cr_assert(found, "%s: there is no wrong kernel %s", mistake->id, mistake->kernel);
    }
}

Test(corpus, does_not_shrink) {
    size_t wrong, right;
    list_kernels("list", "wrong", &wrong);
    list_kernels("list", "right", &right);
    cr_assert(wrong >= WRONG_KERNELS, "%zu wrong kernels, there were %d", wrong, WRONG_KERNELS);
    cr_assert(right >= RIGHT_KERNELS, "%zu right kernels, there were %d", right, RIGHT_KERNELS);
}

Test(corpus, kernels_lie_in_the_folder_of_their_op) {
    static const char *const verdicts[] = {"wrong", "right"};
    for (int v = 0; v < 2; v++) {
        size_t count;
        struct kernel *kernels = list_kernels("list", verdicts[v], &count);
        for (size_t i = 0; i < count; i++) {
            const struct kernel *kernel = &kernels[i];
            size_t length = strlen(kernel->folder);
            cr_assert(strncmp(kernel->op, kernel->folder, length) == 0 && strchr("_", kernel->op[length]),
                      "%s is a kernel of %s", kernel->path, kernel->op);
            cr_assert(!kernel->diagnosis[0] == (v == 1), "%s: diagnosis '%s'", kernel->path, kernel->diagnosis);
            cr_assert(v == 1 || diagnosis_find(kernel->diagnosis), "%s: no known mistake is called '%s'", kernel->path,
                      kernel->diagnosis);
        }
    }
}

/* report: the screen says what a learner needs, aligned and plain; the JSON says the same to programs. */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnose.h"
#include "../report.h"
#include "../score.h"
#include "labs.h"

static struct report report;
static struct prediction prediction;
static char *screen;
static size_t screen_size;

static void forget_screen(void) {
    free(screen);
    screen = NULL;
}

TestSuite(report, .timeout = 20, .fini = forget_screen);

static FILE *open_screen(void) {
    forget_screen();
    return open_memstream(&screen, &screen_size);
}

/* A report of step1 in which all checks of all exercises have that verdict. */
static void all(enum verdict verdict) {
    memset(&report, 0, sizeof report);
    memset(&prediction, 0, sizeof prediction);
    report.step = &all_labs()[0];
    report.seed = 123;
    for (const struct exercise *exercise = all_labs()[0].exercises; exercise->op; exercise++) {
        for (const struct check *check = exercise->checks; check->kind; check++) {
            struct outcome *outcome = &report.outcomes[report.outcome_count++];
            *outcome = (struct outcome){.exercise = exercise, .check = check, .verdict = verdict};
            if (verdict == VERDICT_PASS) { outcome->points = check->points; }
        }
    }
    predict_score(&all_labs()[0], &prediction, &report.outcomes[report.outcome_count++]);
}

static void predicted(void) {
    prediction.made = true;
    strcpy(prediction.time, "2026-01-31T18:05:00Z");
    for (int i = 0; i < STEP_MAX_QUESTIONS; i++) { prediction.answer[i] = 3.5; }
    predict_score(&all_labs()[0], &prediction, &report.outcomes[report.outcome_count - 1]);
}

/* Softmax's shapes have failed at one element. */
static struct outcome *fail_softmax(void) {
    all(VERDICT_PASS);
    predicted();
    struct outcome *failed = NULL;
    for (int i = 0; i < report.outcome_count; i++) {
        struct outcome *outcome = &report.outcomes[i];
        if (!outcome->exercise || strcmp(outcome->exercise->op, "softmax_forward") != 0) { continue; }
        outcome->points = 0;
        outcome->verdict = failed ? VERDICT_NOT_RUN : VERDICT_FAIL;
        if (!failed) { failed = outcome; }
    }
    const struct op_mistake *mistake = diagnosis_find("softmax-no-max");
    failed->failure = (struct failure){.kind = FAILURE_WRONG,
                                       .sizes = {.N = 3, .C = 33, .eps = 1e-5f},
                                       .values = "large (up to 1e4)",
                                       .tensor = 0,
                                       .row = 2,
                                       .column = 32,
                                       .expected = 0.25,
                                       .got = NAN,
                                       .tolerance = 1e-6,
                                       .wrong = 33,
                                       .total = 99,
                                       .diagnosis = mistake->id,
                                       .cause = mistake->cause,
                                       .hint = mistake->hint};
    return failed;
}

static const char *print(bool colour) {
    FILE *out = open_screen();
    score_total(&report);
    report_next(&report, &prediction, "step1_naive");
    report_print(out, colour, 0, &report, &prediction);
    fclose(out);
    return screen;
}

static void assert_says(const char *words) {
    cr_assert(strstr(screen, words), "'%s' is not in:\n%s", words, screen);
}

Test(report, full_marks) {
    all(VERDICT_PASS);
    predicted();
    print(false);
    assert_says("100 of 100 points");
    assert_says("shapes, values, memory, secret");
    assert_says("seed 123");
    assert_says("next: full marks. Commit your work; then make step2 && ./grader step2");
}

Test(report, a_failure_tells_where_what_why_and_where_to_read) {
    fail_softmax();
    print(false);
    assert_says("FAIL");
    assert_says("N = 3, C = 33, values large (up to 1e4)");
    assert_says("out[2][32]: expected 0.25, got NaN");
    assert_says("33 of 99 elements are wrong");
    assert_says("likely cause: the row's maximum is not subtracted");
    assert_says("[softmax-no-max]");
    assert_says("hint: ./grader step1 --kernel softmax_forward --hint=1");
    assert_says("next: repair softmax, forward in step1_naive/softmax.cu");
}

Test(report, two_causes_that_fit_are_both_told) {
    struct outcome *failed = fail_softmax();
    failed->failure.other_diagnosis = "softmax-base-2";
    failed->failure.other_cause = "exp2f in place of expf";
    print(false);
    assert_says("    or, equally: exp2f in place of expf [softmax-base-2]\n");
}

Test(report, a_file_that_does_not_compile_is_told_of_once) {
    struct outcome *failed = fail_softmax(), *other = &report.outcomes[report.outcome_count - 2];
    failed->failure = (struct failure){.kind = FAILURE_BUILD};
    strcpy(failed->failure.text, "softmax.cu does not compile:\nsoftmax.cu:3: error");
    other->verdict = VERDICT_FAIL;
    other->failure = failed->failure;
    print(false);
    assert_says("softmax.cu:3: error");
    cr_assert(!strstr(strstr(screen, "softmax.cu:3: error") + 1, "softmax.cu:3: error"), "%s", screen);
    assert_says("the same file: see above");
}

Test(report, an_eps_that_is_not_the_usual_one_is_told) {
    struct outcome *failed = fail_softmax();
    failed->failure.sizes.eps = 0.125f;
    print(false);
    assert_says("values large (up to 1e4)\n"); /* softmax has none */
    failed->exercise = exercise_find(report.step, "layernorm_forward");
    print(false);
    assert_says("values large (up to 1e4), eps 0.125\n");
}

Test(report, the_backends_message_is_shown) {
    struct outcome *failed = fail_softmax();
    failed->failure.kind = FAILURE_FINDING;
    strcpy(failed->failure.text, "Invalid __global__ write of size 4 bytes\n    at k in softmax.cu:41\n");
    print(false);
    assert_says("    Invalid __global__ write of size 4 bytes\n        at k in softmax.cu:41\n");
}

Test(report, a_skeleton_reads_as_not_started) {
    all(VERDICT_NOT_STARTED);
    print(false);
    assert_says("not started");
    assert_says("0 of 100 points");
    assert_says("next: ./grader step1 --predict");
    assert_says("then edit step1_naive/residual.cu");
    cr_assert(!strstr(screen, "FAIL"), "%s", screen);
    predicted();
    print(false);
    assert_says("next: edit step1_naive/residual.cu");
}

Test(report, predictions_stand_beside_what_was_counted) {
    all(VERDICT_PASS);
    predicted();
    for (int i = 0; i < report.outcome_count; i++) {
        if (report.outcomes[i].check->kind == CHECK_TRAFFIC) { report.outcomes[i].figure = 2.0; }
    }
    print(false);
    assert_says("softmax_traffic    predicted      3.5x   counted         2x");
    assert_says("computed     1.87x");
}

Test(report, computed_answers_wait_for_the_first_measurement) {
    all(VERDICT_PASS);
    predicted();
    print(false);
    assert_says("softmax_share      predicted      3.5x");
    cr_assert(!strstr(screen, "computed"), "%s", screen);
    prediction.is_measured = true; /* in a run before */
    print(false);
    assert_says("computed     1.87x");
}

Test(report, figures_wait_for_the_prediction) {
    all(VERDICT_PASS);
    for (int i = 0; i < report.outcome_count; i++) {
        struct outcome *outcome = &report.outcomes[i];
        if (check_is_correctness(outcome->check->kind)) { continue; }
        outcome->points = 0;
        outcome->verdict = VERDICT_WAITING;
    }
    print(false);
    assert_says("waiting");
    assert_says("next: ./grader step1 --predict");
    cr_assert(!strstr(screen, "then edit"), "%s", screen);
}

Test(report, one_op_alone_points_to_the_others) {
    all(VERDICT_PASS);
    predicted();
    report.outcome_count = 7; /* the first exercise, without the predictions */
    print(false);
    assert_says("next: this op is complete; ./grader step1 marks all of them");
}

Test(report, what_cannot_be_marked_here_is_no_full_mark) {
    all(VERDICT_PASS);
    predicted();
    for (int i = 0; i < report.outcome_count; i++) {
        if (report.outcomes[i].check->kind != CHECK_TRAFFIC) { continue; }
        report.outcomes[i].points = 0;
        report.outcomes[i].verdict = VERDICT_NOT_RUN;
    }
    print(false);
    assert_says("next: everything that this machine can mark is right");
}

Test(report, colour_is_for_terminals_alone) {
    fail_softmax();
    cr_assert(!strchr(print(false), '\033'));
    cr_assert(strchr(print(true), '\033'));
    FILE *out = open_screen();
    cr_assert(!report_wants_colour(out), "memory is no terminal");
    fclose(out);
}

Test(report, columns_are_aligned) {
    fail_softmax();
    char *copy = strdup(print(false));
    long at = strstr(copy, "verdict") - strstr(copy, "  exercise");
    int rows = 0;
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        static const char *const verdicts[] = {"pass ", "FAIL ", "not run "};
        for (int k = 0; k < 3; k++) {
            char *found = (long)strlen(line) > at ? strstr(line, verdicts[k]) : NULL;
            if (!found || strncmp(line, "  next", 6) == 0) { continue; }
            cr_assert_eq(found - line, at, "'%s'", line);
            rows++;
        }
    }
    cr_assert(rows >= 6, "%d rows", rows);
    free(copy);
}

Test(report, the_list_has_all_steps) {
    FILE *out = open_screen();
    labs_list(out, all_labs());
    fclose(out);
    assert_says("step1  step1_naive/");
    assert_says("step2  step2_warp_reduce/");
    assert_says("layernorm_backward");
    assert_says("optional");
}

static cJSON *parse(void) {
    FILE *out = open_screen();
    score_total(&report);
    report_next(&report, &prediction, "step1_naive");
    report_json(out, &report, &prediction);
    fclose(out);
    cJSON *value = cJSON_Parse(screen);
    cr_assert(value, "no JSON: %s", screen);
    return value;
}

Test(report, json_has_every_outcome) {
    fail_softmax();
    report.seed = UINT64_MAX;
    cJSON *value = parse();
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(value, "step")), "step1");
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(value, "seed")), "18446744073709551615");
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(value, "outcomes")), report.outcome_count);
    cr_assert_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(value, "points_max")), 100.0);
    const cJSON *outcome, *found = NULL;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(value, "outcomes")) {
        if (cJSON_GetObjectItem(outcome, "failure") && !found) { found = outcome; }
    }
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(found, "verdict")), "FAIL");
    const cJSON *failure = cJSON_GetObjectItem(found, "failure");
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(failure, "diagnosis")), "softmax-no-max");
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(failure, "got")), "NaN");
    cr_assert_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(failure, "column")), 32.0);
    cr_assert_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(value, "predictions"), "softmax_share")),
                 3.5);
    cJSON_Delete(value);
}

Test(report, elements_of_models_are_named) {
    char name[96];
    struct failure failure = {.sizes = op_model_sizes(TYPE_F32, 2, 3, 2, 4, 5), .row = 17, .column = 3};
    report_element(op_find("attention_forward"), &failure, name, sizeof name);
    cr_assert_str_eq(name, "k[1][1][2][3]");
    failure.sizes.L = 2;
    report_element(op_find("gpt2_forward"), &failure, name, sizeof name);
    cr_assert_str_eq(name, "hidden state, block 1, residual after attention [5][3]");
    failure.row = 6 * 4 + 1;
    report_element(op_find("gpt2_forward"), &failure, name, sizeof name);
    cr_assert_str_eq(name, "hidden state, last LayerNorm [1][3]");
    report_element(op_find("gpt2_decode"), &(struct failure){.sizes = failure.sizes, .row = 3, .column = 1}, name,
                   sizeof name);
    cr_assert_str_eq(name, "hidden, step 1, sequence 1 [1]");
    for (int k = 0; ops[k]; k++) { /* before any call there are no sizes */
        const struct op *op = ops[k];
        struct failure none = {.kind = FAILURE_BUILD};
        report_element(op, &none, name, sizeof name);
        cr_assert(strlen(name) > 0);
    }
}

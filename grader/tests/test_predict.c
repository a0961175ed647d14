/* predict: answers are asked with units, corrected until they are measured, stored, read back, and scored for having been
 * made. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lab.h"
#include "../paths.h"
#include "../predict.h"
#include "labs.h"

TestSuite(predict, .timeout = 20);

static char folder[64], error[256], *shown;
static size_t shown_size;

static void make_folder(void) {
    strcpy(folder, "/tmp/predict.XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void) {
    paths_remove(folder);
    free(shown);
    shown = NULL;
}

static bool ask(const char *answers) {
    FILE *in = fmemopen((void *)(uintptr_t)answers, strlen(answers), "r"), *out = open_memstream(&shown, &shown_size);
    error[0] = '\0';
    bool ok = predict_ask(&all_labs()[0], folder, in, out, false, error, sizeof error);
    fclose(in);
    fclose(out);
    return ok;
}

static void write_file(const char *text) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, PREDICTIONS_FILE);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

Test(predict, nothing_is_predicted_at_first, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    struct outcome outcome;
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(!prediction.made);
    cr_assert_str_eq(prediction.problem, "");
    predict_score(&all_labs()[0], &prediction, &outcome);
    cr_assert_eq(outcome.points, 0.0);
    cr_assert_eq(outcome.verdict, VERDICT_WAITING);
}

static struct question question_in(const char *unit, double low, double high) {
    return (struct question){.key = "key", .text = "How many?", .unit = unit, .low = low, .high = high};
}

static void expect_answer(const struct question *question, const char *line, double expected) {
    char why[256] = "";
    double answer = NAN;
    cr_assert(predict_parse(question, line, &answer, why, sizeof why), "'%s': %s", line, why);
    cr_assert(fabs(answer - expected) <= 1e-9 * expected, "'%s' is %g, not %g", line, answer, expected);
}

static void expect_refusal(const struct question *question, const char *line, const char *reason) {
    char why[256] = "";
    double answer;
    cr_assert(!predict_parse(question, line, &answer, why, sizeof why), "'%s'", line);
    cr_assert(strstr(why, reason), "'%s': %s", line, why);
    cr_assert(strstr(why, "type a number from"), "'%s': %s", line, why);
}

Test(predict, an_answer_is_a_number_and_perhaps_its_unit) {
    struct question ratio = question_in("x", 0.1, 100), megabytes = question_in("MB", 0.001, 1e5),
                    rate = question_in("tokens/s", 1, 1e7), launches = question_in("launches", 1, 1e4);
    expect_answer(&ratio, "2", 2);
    expect_answer(&ratio, " 2.5x\r\n", 2.5);
    expect_answer(&ratio, "0.5x", 0.5);
    expect_answer(&ratio, "1.9 times", 1.9);
    expect_answer(&ratio, "50%", 0.5);
    expect_answer(&ratio, "250 percent", 2.5);
    expect_answer(&megabytes, "8", 8);
    expect_answer(&megabytes, "8 MB", 8);
    expect_answer(&megabytes, "0.5GB", 500);
    expect_answer(&megabytes, "4000 bytes", 0.004);
    expect_answer(&megabytes, "48 MiB", 48 * 1.048576);
    expect_answer(&rate, "1e4 tokens/s", 1e4);
    expect_answer(&rate, "100 tokens a second", 100);
    expect_answer(&launches, "80 launches", 80);
    expect_answer(&launches, "1 launch", 1);
}

Test(predict, an_answer_in_another_unit_is_refused_with_the_reason) {
    struct question ratio = question_in("x", 1, 100), megabytes = question_in("MB", 0.001, 1e5),
                    launches = question_in("launches", 1, 1e4);
    expect_refusal(&ratio, "50%", "'50%' is 0.5x, which is not plausible");
    expect_refusal(&ratio, "12 bytes", "'12 bytes' is an amount of memory, and the question asks for a ratio");
    expect_refusal(&ratio, "2 apples", "unknown unit");
    expect_refusal(&megabytes, "2x", "'2x' is a ratio, and the question asks for an amount of memory");
    expect_refusal(&megabytes, "5 tokens/s", "is tokens per second, and the question asks for an amount of memory");
    expect_refusal(&launches, "80 MB", "is an amount of memory, and the question asks for launches");
    expect_refusal(&launches, "80 la", "unknown unit");
    expect_refusal(&ratio, "1,9", "is not one number");
    expect_refusal(&ratio, "2-3", "is not one number");
    expect_refusal(&ratio, "2.5.1", "is not one number");
    expect_refusal(&ratio, "two", "is no number");
    expect_refusal(&ratio, "0x10", "is no number");
    expect_refusal(&ratio, "inf", "is no number");
    expect_refusal(&ratio, "1e999", "is no number");
    expect_refusal(&ratio, "", "is no number");
    expect_refusal(&ratio, "1000", "not plausible");
}

/* A report that shows the figure of one exercise of lab 1. */
static void measure(const char *op) {
    static struct report report;
    const struct step *step = &all_labs()[0];
    const struct exercise *exercise = exercise_find(step, op);
    report = (struct report){.step = step, .outcome_count = 1};
    report.outcomes[0] =
        (struct outcome){.exercise = exercise, .check = exercise_check(exercise, CHECK_TRAFFIC), .figure = 2.0};
    predict_note_measured(&report, folder);
}

Test(predict, answers_come_back, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    struct outcome outcome;
    cr_assert(ask("2\n2.5x\n 1.9 times\n2.1\n"), "%s", error);
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(prediction.made);
    cr_assert_eq(prediction.answer[0], 2.0);
    cr_assert_eq(prediction.answer[1], 2.5);
    cr_assert_eq(prediction.answer[2], 1.9);
    cr_assert_eq(strlen(prediction.time), strlen("2026-01-31T18:05:00Z"), "%s", prediction.time);
    predict_score(&all_labs()[0], &prediction, &outcome);
    cr_assert_eq(outcome.points, 10.0);
}

Test(predict, the_profile_is_shown_first_and_labelled_as_computed, .init = make_folder, .fini = remove_folder) {
    ask("2\n2\n2\n2\n");
    cr_assert(strstr(shown, "Computed from shapes, not measured"));
    cr_assert(strstr(shown, "softmax"));
    cr_assert(strstr(shown, "launches"));
}

Test(predict, implausible_answers_are_asked_again, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    cr_assert(ask("many\n-1\nnan\n1e9\n2\n2\n2\n2\n"), "%s", error);
    cr_assert(strstr(shown, "'-1' is -1x, which is not plausible: type a number from 1x to 100x"));
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert_eq(prediction.answer[0], 2.0);
}

Test(predict, an_input_that_ends_early_stores_nothing, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    cr_assert(!ask("2\n2\n"));
    cr_assert(strstr(error, "question 3 of 4"), "%s", error);
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(!prediction.made);
}

Test(predict, an_answer_may_be_corrected_before_it_is_measured, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    ask("2\n2\n2\n2\n");
    free(shown);
    cr_assert(ask("\n9\n"), "%s", error);
    cr_assert(strstr(shown, "Predictions for step1, made"));
    cr_assert(strstr(shown, "so far: 2x"));
    cr_assert(strstr(shown, "1 answer changed"));
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(prediction.made);
    cr_assert_eq(prediction.answer[0], 2.0);
    cr_assert_eq(prediction.answer[1], 9.0);
    cr_assert_eq(prediction.answer[2], 2.0);
}

Test(predict, what_is_measured_stays, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    ask("2\n2\n2\n2\n");
    free(shown);
    measure("softmax_forward");
    cr_assert(ask("9\n8\n7\n"), "%s", error); /* the second question alone is still open */
    cr_assert(strstr(shown, "measured since: it stays"), "%s", shown);
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert_eq(prediction.answer[0], 2.0);
    cr_assert_eq(prediction.answer[1], 9.0);
    cr_assert_eq(prediction.answer[2], 2.0);
    cr_assert(prediction.is_fixed[0] && !prediction.is_fixed[1] && prediction.is_fixed[2]); /* kept by the correction */
    free(shown);
    measure("layernorm_forward");
    cr_assert(ask("7\n7\n7\n7\n"), "%s", error);
    cr_assert(strstr(shown, "All of them are measured"), "%s", shown);
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert_eq(prediction.answer[1], 9.0);
}

Test(predict, a_measurement_is_noted_once, .init = make_folder, .fini = remove_folder) {
    char path[96], text[1024] = "";
    ask("2\n2\n2\n2\n");
    measure("softmax_forward");
    measure("softmax_forward");
    snprintf(path, sizeof path, "%s/%s", folder, PREDICTIONS_FILE);
    FILE *file = fopen(path, "r");
    cr_assert(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char *first = strstr(text, "\nmeasured softmax_forward_f32 ");
    cr_assert(first, "%s", text);
    cr_assert(!strstr(first + 2, "measured"), "%s", text);
}

Test(predict, a_unit_in_the_file_is_read, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    write_file("predicted 2026-01-31T18:05:00Z\nsoftmax_traffic 200%\nlayernorm_traffic 2 times\n"
               "softmax_share 2\nall_share 2\n");
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(prediction.made, "%s", prediction.problem);
    cr_assert_eq(prediction.answer[0], 2.0);
    cr_assert_eq(prediction.answer[1], 2.0);
    write_file("predicted 2026-01-31T18:05:00Z\nsoftmax_traffic 12 bytes\nlayernorm_traffic 2\n"
               "softmax_share 2\nall_share 2\n");
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(!prediction.made);
    cr_assert(strstr(prediction.problem, "softmax_traffic: '12 bytes' is an amount of memory"), "%s",
              prediction.problem);
}

Test(predict, a_damaged_file_says_what_is_missing, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    write_file("predicted 2026-01-31T18:05:00Z\nsoftmax_traffic 2\nlayernorm_traffic minus\n");
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(!prediction.made);
    cr_assert(strstr(prediction.problem, "layernorm_traffic"), "%s", prediction.problem);
    write_file("softmax_traffic 2\nlayernorm_traffic 2\nsoftmax_share 2\nall_share 2\n");
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert(!prediction.made);
    cr_assert(strstr(prediction.problem, "predicted TIME"), "%s", prediction.problem);
}

Test(predict, a_folder_that_cannot_be_written_is_reported, .init = make_folder, .fini = remove_folder) {
    paths_remove(folder);
    cr_assert(!ask("2\n2\n2\n2\n"));
    cr_assert(strstr(error, "cannot write"), "%s", error);
}

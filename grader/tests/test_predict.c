/* predict: answers are asked, stored once, read back, and scored for having been made. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

Test(predict, an_answer_is_a_number_and_perhaps_its_unit) {
    static const char *const right[] = {"2", " 2.5x\r\n", "1.9 times", "50%"}, *const wrong[] = {"1,9", "2-3", "two",
                                                                                                 ""};
    double answer;
    for (int i = 0; i < 4; i++) {
        cr_assert(predict_parse(&all_labs()[0].questions[0], right[i], &answer), "'%s'", right[i]);
        cr_assert(!predict_parse(&all_labs()[0].questions[0], wrong[i], &answer), "'%s'", wrong[i]);
    }
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
    cr_assert(strstr(shown, "please type a number from 1 to 100"));
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

Test(predict, a_prediction_is_made_once, .init = make_folder, .fini = remove_folder) {
    struct prediction prediction;
    ask("2\n2\n2\n2\n");
    free(shown);
    cr_assert(ask("9\n9\n9\n9\n"));
    cr_assert(strstr(shown, "Predictions for step1, made"));
    predict_load(&all_labs()[0], folder, &prediction);
    cr_assert_eq(prediction.answer[0], 2.0);
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

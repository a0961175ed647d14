/* class_conf: an instructor's points and seed are read strictly; every mistake names its line and a remedy. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../class_conf.h"
#include "../score.h"
#include "labs.h"

TestSuite(class_conf, .timeout = 20);

static struct class_conf conf;
static char error[512];

/* The course's own labs, which a test may change: its process is its own. */
static struct step *steps(void) {
    return (struct step *)(uintptr_t)all_labs();
}

static bool read_text(const char *text) {
    error[0] = '\0';
    return class_conf_read("class.conf", text, strlen(text), steps(), &conf, error, sizeof error);
}

static int points(const char *exercise, enum check_kind kind) {
    return exercise_check(exercise_find(steps(), exercise), kind)->points;
}

Test(class_conf, points_bands_predictions_and_seed) {
    cr_assert(
        read_text("# autumn\nseed 18446744073709551615\npoints step1 softmax_forward shapes=10 traffic=0\n"
                  "points step1 residual_forward\n    shapes=3 # continued\nbands step1 softmax_forward pass=2 good=4 "
                  "speed_of_light=6\npredictions step1 0\n"),
        "%s", error);
    cr_assert(conf.has_seed);
    cr_assert_eq(conf.seed, UINT64_MAX);
    cr_assert_eq(points("softmax_forward", CHECK_SHAPES), 10);
    cr_assert_eq(points("softmax_forward", CHECK_TRAFFIC), 0);
    cr_assert_eq(points("softmax_forward", CHECK_VALUES), 7);
    cr_assert_eq(points("residual_forward", CHECK_SHAPES), 3);
    cr_assert_eq(points("softmax_forward", CHECK_BAND), 6);
    cr_assert_eq(steps()->predictions.points, 0);
}

Test(class_conf, an_empty_file_changes_nothing) {
    int before = points("softmax_forward", CHECK_SHAPES);
    cr_assert(read_text("\n# nothing\n"), "%s", error);
    cr_assert(!conf.has_seed);
    cr_assert_eq(points("softmax_forward", CHECK_SHAPES), before);
}

/* One sample of a kernel at that fraction of a copy's speed. */
static void timing_of(struct timing *timing, double fraction) {
    *timing = (struct timing){.measurement = {.count = 1, .sample = {{.op_us = 1.0, .copy_us = fraction}}}};
}

Test(class_conf, a_faster_band_gives_its_points) {
    cr_assert(read_text("bands step1 softmax_forward pass=2 good=4 speed_of_light=6"), "%s", error);
    const struct exercise *exercise = exercise_find(steps(), "softmax_forward");
    const struct band_target *bands = &exercise->bands;
    const struct {
        double fraction, points;
        enum verdict verdict;
    } cases[] = {{bands->pass / 2, 0, VERDICT_FAIL},
                 {bands->pass, 2, VERDICT_PARTIAL},
                 {bands->good, 4, VERDICT_PARTIAL},
                 {bands->speed_of_light, 6, VERDICT_PASS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timing timing;
        struct outcome outcome = {.exercise = exercise, .check = exercise_check(exercise, CHECK_BAND)};
        timing_of(&timing, cases[i].fraction);
        score_timing(&outcome, &timing);
        cr_assert_eq(outcome.points, cases[i].points, "%g gives %g", cases[i].fraction, outcome.points);
        cr_assert_eq(outcome.verdict, cases[i].verdict);
    }
}

Test(class_conf, mistakes_name_their_line_and_a_remedy) {
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"points", "class.conf:1: points needs a step"},
        {"\npoints step9 softmax_forward shapes=1", "class.conf:2: there is no step 'step9': ./grader --list"},
        {"points step1", "step1 needs an exercise"},
        {"points step1 relu shapes=1", "step1 has no exercise 'relu'"},
        {"points step1 softmax_forward", "is given no points: add CHECK=POINTS"},
        {"points step1 softmax_forward shapes", "'shapes' gives no points: write CHECK=POINTS"},
        {"points step1 softmax_forward shape=1", "softmax_forward has no check 'shape': ./grader step1 --describe"},
        {"points step1 softmax_forward shapes=-1", "'-1': points are whole numbers from 0 to 1000"},
        {"points step1 softmax_forward shapes=2.5", "'2.5': points are whole"},
        {"points step1 softmax_forward shapes=1 shapes=2", "shapes are given twice: keep one"},
        {"bands step1 softmax_forward pass=1 good=2", "speed_of_light=N is missing"},
        {"bands step1 softmax_forward good=1 pass=1 speed_of_light=1", "pass=N is missing"},
        {"bands step1 softmax_forward pass=3 good=2 speed_of_light=4", "let the points increase"},
        {"bands step1 softmax_forward pass=0 good=0 speed_of_light=0", "let the points increase"},
        {"bands step1 softmax_forward pass=1 good=2 speed_of_light=3 more", "'more' is too much here"},
        {"bands step1 softmax_forward pass=1 good=2 speed_of_light=3\npoints step1 softmax_forward speed=3",
         "class.conf:2: the points of speed are given twice"},
        {"predictions step1", "step1 needs points"},
        {"predictions step1 ten", "'ten': points are whole numbers"},
        {"seed", "seed needs a number"},
        {"seed -1", "'-1' is no seed"},
        {"seed 99999999999999999999999", "is no seed"},
        {"seed 1\nseed 1", "class.conf:2: the file has two seeds: keep one"},
        {"poinst step1 softmax_forward shapes=1", "unknown word 'poinst': a line begins with points, bands"},
        {"\"points\" step1", "unknown word 'points'"},
        {"points step1 \"soft", "a quotation mark is missing"},
        {"seed 1\n\x01", "class.conf:2: character 1 is no text"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert(!read_text(wrong[i].text), "'%s' was read", wrong[i].text);
        cr_assert(strstr(error, wrong[i].says), "'%s': %s", wrong[i].text, error);
    }
}

Test(class_conf, an_optional_exercise_has_no_points) {
    for (const struct step *step = steps(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            char text[200];
            if (!exercise->optional || !exercise_find(step, exercise->op)->optional) { continue; }
            snprintf(text, sizeof text, "points %s %s shapes=1", step->name, exercise->op);
            cr_assert(!read_text(text));
            cr_assert(strstr(error, "is optional and has no points"), "%s", error);
            return;
        }
    }
    cr_assert(false, "no lab has an optional exercise");
}

Test(class_conf, no_damaged_text_breaks_it) {
    static const char whole[] =
        "seed 12\npoints step1 softmax_forward shapes=10\nbands step1 softmax_forward pass=2 good=4 "
        "speed_of_light=6\npredictions step1 0\n";
    srand(1);
    int refused = 0;
    for (int run = 0; run < 5000; run++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        text[(size_t)rand() % (sizeof whole - 1)] = (char)(rand() % 128);
        refused +=
            !class_conf_read("class.conf", text, (size_t)rand() % sizeof whole, steps(), &conf, error, sizeof error);
    }
    cr_assert(refused > 1000, "%d", refused);
}

Test(class_conf, a_file_that_cannot_be_read) {
    cr_assert(!class_conf_load("/nowhere/class.conf", steps(), &conf, error, sizeof error));
    cr_assert(strstr(error, "cannot read /nowhere/class.conf: No such file"), "%s", error);
}

/* The judge of GPU figures, with made-up samples: no GPU is needed to know what a lie looks like. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "grader/measure.h"
#include "hostile.h"

/* `count` samples around op_us and copy_us with a triangle of noise of the given relative size. */
static struct measurement make(int count, double op_us, double copy_us, double noise) {
    struct measurement m = {
        .count = count, .bytes = 50e6, .peak_bytes_per_us = 4.9e6, .l2_bytes = 60e6, .set_bytes = 240e6};
    for (int i = 0; i < count; i++) {
        double wobble = 1 + noise * ((i * 7 % 11) / 5.0 - 1);
        m.sample[i] =
            (struct measure_sample){.op_us = op_us * wobble, .copy_us = copy_us, .launches = 400, .copy_launches = 400};
        m.sample[i].wall_us = m.sample[i].op_us * 400 + 100;
        m.sample[i].copy_wall_us = copy_us * 400 + 100;
    }
    return m;
}

static enum measure_verdict judge(const struct measurement *m, double edge, bool again) {
    return measure_judge(m, &edge, 1, again);
}

Test(measure, quartiles_of_known_values) {
    double values[] = {5, 1, 4, 2, 3};
    struct quartiles q = measure_quartiles(values, 5);
    cr_assert_eq(q.low, 2);
    cr_assert_eq(q.median, 3);
    cr_assert_eq(q.high, 4);
    cr_assert_eq(q.minimum, 1);
    double two[] = {1, 2};
    cr_assert_eq(measure_quartiles(two, 2).median, 1.5);
    cr_assert_eq(measure_quartiles(two, 1).high, 1);
    cr_assert(isnan(measure_quartiles(two, 0).median));
}

Test(measure, the_figure_is_copy_over_op) {
    struct measurement m = make(10, 20, 16, 0);
    cr_assert_float_eq(measure_fraction(&m).median, 0.8, 1e-9);
    cr_assert_eq(measure_op_us(&m).median, 20);
    cr_assert_eq(measure_copy_us(&m).median, 16);
}

Test(measure, a_clean_run_is_accepted) {
    struct measurement m = make(10, 20, 16, 0.001);
    cr_assert(measure_relative_deviation(&m) < 0.005);
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
}

Test(measure, nine_samples_are_too_few) {
    struct measurement m = make(9, 20, 16, 0);
    cr_assert_eq(judge(&m, 0.7, true), MEASURE_MORE);
}

Test(measure, noise_asks_for_more_until_the_median_stands) {
    struct measurement noisy = make(10, 20, 16, 0.05);
    cr_assert_eq(judge(&noisy, 0.5, false), MEASURE_MORE);
    struct measurement drifting = make(40, 20, 16, 0.02);
    for (int i = 0; i < 40; i++) { drifting.sample[i].copy_us *= 1 + 0.01 * i; }
    cr_assert(!measure_stable(&drifting));
    struct measurement standing = make(55, 20, 16, 0.02);
    cr_assert(measure_relative_deviation(&standing) > 0.005);
    cr_assert(measure_stable(&standing));
}

Test(measure, a_just_faster_than_copy_is_no_lie) {
    struct measurement m = make(12, 15.9, 16, 0.001); /* 1.006 of the copy, 3.1 TB/s of 4.9 */
    cr_assert_eq(judge(&m, 0.9, false), MEASURE_OK);
}

Test(measure, times_shorter_than_the_parent_waited_are_refused) {
    struct measurement m = make(12, 20, 16, 0.001);
    for (int i = 0; i < m.count; i++) { m.sample[i].wall_us = 2 * 20 * 400; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_CLOCKS);
    for (int i = 0; i < m.count; i++) { m.sample[i].wall_us = 1.03 * 20 * 400 + 150; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_CLOCKS);
    for (int i = 0; i < m.count; i++) { m.sample[i].wall_us = 1.01 * 20 * 400 + 150; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
}

Test(measure, times_longer_than_the_parent_waited_are_refused) {
    struct measurement m = make(12, 20, 16, 0.001);
    for (int i = 0; i < m.count; i++) { m.sample[i].copy_us = 30; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_CLOCKS, "a slow copy would flatter the op");
}

Test(measure, one_interrupted_batch_accuses_nobody) {
    struct measurement m = make(12, 20, 16, 0.001);
    m.sample[3].wall_us *= 10;
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
}

Test(measure, what_a_batch_takes_to_start_is_measured) {
    struct measurement m = make(12, 20, 16, 0.001);
    for (int i = 0; i < m.count; i++) { m.sample[i].wall_us = 20 * 400 * 1.01 + 500; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_CLOCKS);
    m.quiet_start_us = 400;
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
}

Test(measure, what_is_not_the_op_takes_as_long_as_before) {
    struct measurement m = make(12, 20, 16, 0.001);
    m.quiet_prepare_us = 3000;
    m.quiet_copy_us = m.sample[0].copy_wall_us;
    for (int i = 0; i < m.count; i++) { m.sample[i].prepare_wall_us = 3000 * 1.04 + 150; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
    for (int i = 0; i < m.count; i++) { m.sample[i].prepare_wall_us = 3000 * 1.06 + 150; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_DISTURBED, "work while the inputs are made");
    for (int i = 0; i < m.count; i++) { m.sample[i].prepare_wall_us = 2500; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
    m.quiet_copy_us = m.sample[0].copy_wall_us / 1.1 - 150;
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_DISTURBED, "a slow copy would flatter the op");
}

Test(measure, more_than_the_memory_delivers_is_impossible) {
    /* A quarter may stay in the L2: 37.5 MB must come from memory, which takes 7.6 us at 4.9 TB/s. */
    struct measurement m = make(12, 7.7, 16, 0.001);
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
    m = make(12, 7.4, 16, 0.001);
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_IMPOSSIBLE);
    m.set_bytes = m.l2_bytes; /* everything fits into the L2 */
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
    m = make(12, 7.4, 16, 0.001);
    m.peak_bytes_per_us = 0; /* unknown */
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_OK);
}

Test(measure, no_time_at_all_is_impossible) {
    struct measurement m = make(12, 0, 16, 0);
    for (int i = 0; i < m.count; i++) { m.sample[i].wall_us = 10; }
    cr_assert_eq(judge(&m, 0.7, false), MEASURE_IMPOSSIBLE);
}

Test(measure, straddling_an_edge_is_measured_again_then_inconclusive) {
    struct measurement m = make(12, 20, 16, 0.004);
    cr_assert_eq(measure_side(&m, 0.8), 0);
    cr_assert_eq(judge(&m, 0.8, false), MEASURE_MORE);
    cr_assert_eq(judge(&m, 0.8, true), MEASURE_INCONCLUSIVE);
    cr_assert_eq(measure_side(&m, 0.7), 1);
    cr_assert_eq(measure_side(&m, 0.9), -1);
    double edges[] = {0.5, 0.8, 0.95};
    cr_assert_eq(measure_judge(&m, edges, 3, true), MEASURE_INCONCLUSIVE);
}

/* ---- the dialogue, with runners that lie about times ---- */

static struct runner runner;
static struct measurement measurement;
static struct result result;
static char message[256];
static bool checked_rows_are_right;

static bool check(void *context, const struct op *op, const struct op_sizes *sizes, uint64_t seed, int set, int calls,
                  const int *rows, int row_count, const void *data) {
    (void)context, (void)op, (void)seed, (void)data;
    cr_assert(set >= 0 && set < 100 && calls == 1 && row_count > 0);
    for (int i = 0; i < row_count; i++) { cr_assert(rows[i] >= 0 && rows[i] < sizes->N); }
    return checked_rows_are_right;
}

static enum measure_verdict measure(const char *mode, measure_check *function) {
    static const double edges[] = {0.5};
    struct measure_options options = {.op = op_find("softmax_forward"),
                                      .sizes = {64, 64, 0},
                                      .edges = edges,
                                      .edge_count = 1,
                                      .wall_seconds = 4,
                                      .check = function};
    cr_assert_eq(runner_start(&runner, hostile_path(mode), NULL), CHILD_OK);
    enum measure_verdict verdict = measure_run(&runner, &options, &measurement, &result, message, sizeof message);
    runner_stop(&runner);
    return verdict;
}

/* On a machine that is busy the grader's clock runs on while the runner waits for its turn. */
static enum measure_verdict measure_patiently(const char *mode, measure_check *function) {
    enum measure_verdict verdict = MEASURE_CLOCKS;
    for (int attempt = 0; attempt < 8 && verdict == MEASURE_CLOCKS; attempt++) { verdict = measure(mode, function); }
    return verdict;
}

Test(measure, a_dialogue_with_an_honest_runner) {
    cr_assert_eq(measure_patiently("time_right", NULL), MEASURE_OK, "%s", message);
    cr_assert(measurement.count >= MEASURE_MIN_SAMPLES);
    cr_assert_float_eq(measure_fraction(&measurement).median, 1, 0.01);
}

Test(measure, a_runner_that_claims_no_time) {
    cr_assert_eq(measure("time_zero", NULL), MEASURE_CLOCKS, "%s", message);
}
Test(measure, a_runner_that_claims_too_little) {
    cr_assert_eq(measure("time_short", NULL), MEASURE_CLOCKS, "%s", message);
    cr_assert(strstr(message, "disagree"), "%s", message);
}
Test(measure, a_runner_that_claims_no_number) {
    cr_assert_eq(measure("time_nan", NULL), MEASURE_FAILED, "%s", message);
}
Test(measure, a_runner_that_dies) {
    cr_assert_eq(measure("crash", NULL), MEASURE_FAILED);
    cr_assert(strstr(message, "SIGSEGV"), "%s", message);
}

Test(measure, a_runner_that_works_while_inputs_are_made) {
    cr_assert_eq(measure_patiently("time_eager", NULL), MEASURE_DISTURBED, "%s", message);
    cr_assert(strstr(message, "as long as before this kernel ran"), "%s", message);
}
Test(measure, a_plan_without_launches) {
    cr_assert_eq(measure("time_no_plan", NULL), MEASURE_FAILED, "%s", message);
    cr_assert_eq(measure("time_long_plan", NULL), MEASURE_FAILED, "%s", message);
}

Test(measure, a_wrong_sample_ends_it) {
    checked_rows_are_right = false;
    cr_assert_eq(measure("time_sampled", check), MEASURE_WRONG_OUTPUT, "%s", message);
    checked_rows_are_right = true;
    cr_assert_eq(measure_patiently("time_sampled", check), MEASURE_OK, "%s", message);
}

/* score: counted figures and verdicts become points as the lab's description says. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../score.h"

TestSuite(score, .timeout = 20);

enum { N = 64, C = 256, SECTOR = 32 };

static const struct check traffic_check = {CHECK_TRAFFIC, 10}, parallel_check = {CHECK_PARALLEL, 4};

static struct exercise exercise = {
    .op = "layernorm_forward",
    .title = "LayerNorm",
    .traffic = {TRAFFIC_SECTORS,
                {.N = N, .C = C, .eps = 1e-5f},
                {.limit = {1.05, 2.05, 4.0}, .percent = {100, 60, 20}, .rung = {"fewer passes", "fewer passes"}}},
    .parallel = {64, 20},
};

/* A run that read x so many times the floor, in sectors; half of it in bytes asked. */
static struct result moved(double multiple) {
    struct result result = {0};
    double floor_bytes = 2.0 * N * C * 4;
    result.counters.global.load_sectors = (uint64_t)(multiple * floor_bytes / SECTOR);
    result.counters.global.load_bytes = (uint64_t)(multiple * floor_bytes / 2);
    result.traffic[op_tensor_find(op_find("layernorm_forward"), "x")] = result.counters.global;
    return result;
}

static struct outcome score(const struct check *check, const struct result *result) {
    struct outcome outcome = {.exercise = &exercise, .check = check};
    if (check->kind == CHECK_TRAFFIC) {
        score_traffic(&outcome, result);
    } else {
        score_parallel(&outcome, result);
    }
    return outcome;
}

Test(score, tiers_of_traffic) {
    static const struct {
        double multiple, points;
        enum verdict verdict;
    } tiers[] = {{1.0, 10, VERDICT_PASS},   {1.5, 6, VERDICT_PARTIAL}, {2.05, 6, VERDICT_PARTIAL},
                 {3.0, 2, VERDICT_PARTIAL}, {4.5, 0, VERDICT_FAIL},    {16.0, 0, VERDICT_FAIL}};
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        struct result result = moved(tiers[i].multiple);
        struct outcome outcome = score(&traffic_check, &result);
        cr_assert_eq(outcome.points, tiers[i].points, "%gx gives %g points", tiers[i].multiple, outcome.points);
        cr_assert_eq(outcome.verdict, tiers[i].verdict, "%gx", tiers[i].multiple);
        cr_assert(outcome.figure > tiers[i].multiple - 0.01 && outcome.figure < tiers[i].multiple + 0.01);
        cr_assert_eq(outcome.failure.kind != FAILURE_NONE, tiers[i].points < 10);
    }
}

Test(score, bytes_are_graded_where_the_lab_says_so) {
    struct result result = moved(2.0);
    exercise.traffic.unit = TRAFFIC_BYTES;
    cr_assert_eq(score(&traffic_check, &result).verdict, VERDICT_PASS, "half of 2x");
    cr_assert(strstr(score(&traffic_check, &result).measured, "in bytes"));
}

Test(score, small_tensors_are_reported_and_not_graded) {
    struct result result = moved(1.0);
    uint64_t weight = result.counters.global.load_sectors / 2;
    result.counters.global.load_sectors += weight;
    result.traffic[4].load_sectors = weight;
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_eq(outcome.verdict, VERDICT_PASS);
    cr_assert(strstr(outcome.measured, "small tensors add 0.50x, not graded"), "%s", outcome.measured);
}

Test(score, scratch_memory_is_graded) {
    struct result result = moved(1.0);
    result.counters.global.store_sectors = result.counters.global.load_sectors; /* of no tensor of the op */
    cr_assert_eq(score(&traffic_check, &result).verdict, VERDICT_PARTIAL);
}

Test(score, scattered_access_is_named) {
    struct result result = moved(16.0);
    result.counters.global.load_bytes /= 4;
    cr_assert_str_eq(score(&traffic_check, &result).failure.diagnosis, "uncoalesced");
    result = moved(3.0);
    result.counters.global.load_bytes *= 2;
    cr_assert_str_eq(score(&traffic_check, &result).failure.diagnosis, "too-much-traffic");
}

Test(score, split_sectors_are_named) {
    struct result result = moved(1.2);
    result.counters.global.load_bytes = (uint64_t)(2.0 * N * C * 4);
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_str_eq(outcome.failure.diagnosis, "split-sectors");
    cr_assert_null(outcome.next_rung, "no kernel that reads less");
}

Test(score, a_figure_above_its_limit_reads_as_one) {
    struct result result = moved(1.0);
    double floor = (double)result.counters.global.load_sectors;
    result.counters.global.load_sectors = (uint64_t)(floor * (score(&traffic_check, &result).limit + 0.0008));
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_eq(outcome.verdict, VERDICT_PARTIAL);
    cr_assert(strtod(outcome.measured, NULL) > outcome.limit, "%s, %s", outcome.measured, outcome.target);
}

Test(score, moves_are_counted_for_each_tensor) {
    struct result result = moved(3.0);
    result.counters.global.load_bytes *= 2;
    result.traffic[op_tensor_find(op_find("layernorm_forward"), "out")].store_sectors = N * C * 4 / SECTOR;
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_str_eq(outcome.failure.text, "in sectors: out written 1.00 times, x read 6.00 times");
    cr_assert_not_null(outcome.next_rung);
}

Test(score, scratch_is_named_where_the_tensors_move_once) {
    struct result result = moved(1.0);
    result.counters.global.load_bytes *= 2;
    result.traffic[op_tensor_find(op_find("layernorm_forward"), "x")] = result.counters.global;
    result.counters.global.store_sectors = 2 * result.counters.global.load_sectors;
    result.counters.global.store_bytes = 2 * result.counters.global.load_bytes;
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_str_eq(outcome.failure.diagnosis, "scratch-traffic");
    cr_assert_str_eq(outcome.failure.text, "in sectors: x read 2.00 times, other memory 2.00x the floor");
    cr_assert_null(outcome.next_rung);
}

Test(score, parallelism_needs_warps_and_short_chains) {
    struct result result = {.counters = {.largest_grid_warps = 64, .longest_chain = 40}};
    cr_assert_eq(score(&parallel_check, &result).points, 4.0);
    result.counters.longest_chain = 41;
    cr_assert_eq(score(&parallel_check, &result).points, 0.0);
    cr_assert_str_eq(score(&parallel_check, &result).failure.diagnosis, "long-chain");
    result = (struct result){.counters = {.largest_grid_warps = 1, .longest_chain = 40}};
    cr_assert_eq(score(&parallel_check, &result).verdict, VERDICT_FAIL);
    cr_assert_str_eq(score(&parallel_check, &result).failure.diagnosis, "too-few-warps");
}

Test(score, each_rung_has_points_and_names_the_next) {
    static const struct exercise exercise = {
        .op = "softmax_forward",
        .traffic = {.sizes = {.N = 10, .C = 64}},
        .barriers = {.limit = {0, 16, 72}, .percent = {100, 75, 50}, .rung = {"warps", "shuffles"}}};
    static const struct check check = {CHECK_BARRIERS, 4};
    static const struct {
        uint64_t barriers;
        double points;
        const char *next;
    } rungs[] = {{0, 4, NULL}, {10, 3, "warps"}, {160, 3, "warps"}, {720, 2, "shuffles"}, {730, 0, NULL}};
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++) {
        struct result result = {.counters = {.barriers = rungs[i].barriers}};
        struct outcome outcome = {.exercise = &exercise, .check = &check};
        score_barriers(&outcome, &result);
        cr_assert_eq(outcome.points, rungs[i].points, "%d barriers", (int)rungs[i].barriers);
        cr_assert(outcome.next_rung == rungs[i].next || strcmp(outcome.next_rung, rungs[i].next) == 0);
        cr_assert(outcome.points == 4 || strcmp(outcome.failure.diagnosis, "too-many-barriers") == 0);
    }
}

Test(score, launches_have_tiers) {
    static const struct exercise block = {.op = "block_forward",
                                          .launches = {.limit = {8, 10, 14}, .percent = {100, 60, 30}}};
    static const struct check check = {CHECK_LAUNCHES, 10};
    static const struct {
        uint64_t launches;
        double points;
    } tiers[] = {{6, 10}, {8, 10}, {9, 6}, {14, 3}, {15, 0}};
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        struct result result = {.counters = {.launches = tiers[i].launches}};
        struct outcome outcome = {.exercise = &block, .check = &check};
        score_launches(&outcome, &result);
        cr_assert_eq(outcome.points, tiers[i].points, "%d launches", (int)tiers[i].launches);
        cr_assert(tiers[i].points == 10 || strcmp(outcome.failure.diagnosis, "too-many-launches") == 0);
        score_hide(&outcome);
        cr_assert_eq(outcome.figure, 0.0);
    }
}

/* Scratch and the kernel set's traffic do not count: the figure of a model part is that of its own tensors. */
Test(score, a_model_parts_traffic_is_that_of_its_tensors) {
    const struct op *op = op_find("attention_forward");
    struct traffic_target target = {.unit = TRAFFIC_BYTES,
                                    .sizes = op_model_sizes(TYPE_F32, 1, 8, 2, 4, 8),
                                    .tiers = {.limit = {1.0}, .percent = {100}}};
    struct result result = {0};
    for (int t = 0; t < op_tensor_count(op); t++) {
        result.traffic[t].load_bytes = op_elements(op, t, &target.sizes) * op_element_bytes(op, t, TYPE_F32);
    }
    result.counters.global.load_bytes = 1 << 20;
    cr_assert(score_traffic_multiple(op, &target, &result) > 0.999 &&
              score_traffic_multiple(op, &target, &result) < 1.001);
    result.traffic[op_tensor_find(op, "scores")].load_bytes *= 10;
    cr_assert(score_traffic_multiple(op, &target, &result) < 1.001);
    result.traffic[op_tensor_find(op, "k")].store_bytes = result.traffic[op_tensor_find(op, "k")].load_bytes;
    cr_assert(score_traffic_multiple(op, &target, &result) > 1.1);
}

/* An open problem counts scratch memory and small tensors, too, and refuses what the products of a library move uncounted. */
Test(score, an_open_problem_counts_everything) {
    static struct exercise exercise = {.op = "attention_forward", .is_open = true};
    struct outcome outcome = {.exercise = &exercise, .check = &traffic_check};
    struct result result = {0};
    exercise.traffic = (struct traffic_target){.unit = TRAFFIC_BYTES,
                                               .sizes = op_model_sizes(TYPE_F32, 1, 8, 2, 4, 8),
                                               .tiers = {.limit = {1.5}, .percent = {100}},
                                               .everything = true};
    size_t floor = 6 * 8 * 2 * 4 * sizeof(float); /* qkv, k, v and out */
    result.counters.global.load_bytes = floor;
    score_traffic(&outcome, &result);
    cr_assert_eq(outcome.verdict, VERDICT_PASS, "%s", outcome.measured);
    result.counters.global.store_bytes = floor; /* of no tensor: scratch */
    score_traffic(&outcome, &result);
    cr_assert_eq(outcome.verdict, VERDICT_FAIL, "%s", outcome.measured);
    cr_assert_eq(outcome.failure.kind, FAILURE_NONE);
    cr_assert_null(outcome.failure.cause);
    result.counters.global.store_bytes = 0;
    result.products = 2;
    score_traffic(&outcome, &result);
    cr_assert_eq(outcome.verdict, VERDICT_FAIL);
    cr_assert(strstr(outcome.measured, "2 library products"), "%s", outcome.measured);
}

Test(score, totals) {
    static struct report report;
    report.outcomes[0] = (struct outcome){.check = &traffic_check, .points = 6, .verdict = VERDICT_PARTIAL};
    report.outcomes[1] = (struct outcome){.check = &parallel_check, .points = 4, .verdict = VERDICT_PASS};
    report.outcome_count = 2;
    score_total(&report);
    cr_assert_eq(report.points, 10.0);
    cr_assert_eq(report.points_max, 14.0);
    cr_assert(!score_is_full(&report));
    report.outcomes[0].points = 10;
    score_total(&report);
    cr_assert(score_is_full(&report));
}

Test(score, track_b_alone_is_full_when_all_pass) {
    static const struct check unpaid = {CHECK_SHAPES, 0};
    static struct report report;
    report.outcomes[0] = (struct outcome){.check = &unpaid, .verdict = VERDICT_FAIL};
    report.outcome_count = 1;
    score_total(&report);
    cr_assert(!score_is_full(&report));
    report.outcomes[0].verdict = VERDICT_PASS;
    cr_assert(score_is_full(&report));
}

Test(score, nothing_marked_is_not_full) {
    static struct report report;
    score_total(&report);
    cr_assert(!score_is_full(&report));
}

Test(score, before_the_prediction_points_stay_and_the_figure_is_hidden) {
    struct result result = moved(1.0);
    struct outcome traffic = score(&traffic_check, &result), parallel = score(&parallel_check, &result);
    struct outcome hidden = traffic, parallel_before = parallel;
    score_hide(&hidden);
    cr_assert_eq(hidden.points, traffic.points);
    cr_assert_eq(hidden.verdict, VERDICT_PASS);
    cr_assert_eq(hidden.figure, 0.0);
    cr_assert_null(strstr(hidden.measured, "1.00"), "%s", hidden.measured);
    cr_assert_str_eq(hidden.target, "");
    result = moved(3.0);
    hidden = score(&traffic_check, &result);
    cr_assert_str_neq(hidden.failure.text, "");
    score_hide(&hidden);
    cr_assert_str_eq(hidden.failure.text, "", "the figures of each tensor are figures");
    score_hide(&parallel);
    cr_assert_str_eq(parallel.measured, parallel_before.measured);
}

/* ---- an exercise ---- */

static const struct exercise marked = {
    .op = "softmax_forward",
    .checks = {{CHECK_SHAPES, 4},
               {CHECK_VALUES, 3},
               {CHECK_MEMORY, 2},
               {CHECK_SECRET, 1},
               {CHECK_TRAFFIC, 5},
               {CHECK_PARALLEL, 2},
               {CHECK_BAND, 0}},
    .traffic = {TRAFFIC_BYTES, {.N = N, .C = C}, {.limit = {1.05}, .percent = {100}}},
    .parallel = {64, 20},
    .bands = {{.N = N, .C = C}, 0.5, 0.8, 0.9},
};
static const struct task task = {.exercise = &marked, .shows_figures = true, .can_count = true};

static struct checks passed(int count) {
    struct checks checks = {.count = count};
    for (int i = 0; i < count; i++) { checks.verdict[i] = VERDICT_PASS; }
    return checks;
}

/* The last of `count` checks has failed. */
static struct checks failed(int count, enum failure_kind kind, const char *diagnosis) {
    struct checks checks = passed(count);
    checks.verdict[count - 1] = VERDICT_FAIL;
    checks.failure[count - 1] = (struct failure){.kind = kind, .diagnosis = diagnosis};
    return checks;
}

static const struct checks none;

Test(score, checks_that_pass_have_their_points) {
    struct checks checks = passed(4);
    struct marks marks = score_checks(&task, &checks, &none);
    cr_assert_eq(marks.count, 4);
    cr_assert(score_is_right(&marks));
    for (int i = 0; i < 4; i++) { cr_assert_eq(marks.outcome[i].points, 4 - i); }
}

Test(score, after_a_failure_nothing_is_run) {
    struct checks checks = failed(2, FAILURE_WRONG, "off-by-one");
    struct marks marks = score_checks(&task, &checks, &none);
    static const enum verdict verdicts[] = {VERDICT_PASS, VERDICT_FAIL, VERDICT_NOT_RUN, VERDICT_NOT_RUN};
    for (int i = 0; i < 4; i++) { cr_assert_eq(marks.outcome[i].verdict, verdicts[i], "check %d", i); }
    cr_assert_str_eq(marks.outcome[1].failure.diagnosis, "off-by-one");
    cr_assert(!score_is_right(&marks));
    score_performance(&marks, &task, NULL);
    cr_assert_eq(marks.count, 6, "traffic and parallelism, but no band without a GPU");
    cr_assert_eq(marks.outcome[5].verdict, VERDICT_NOT_RUN);
}

static struct checks not_started(void) {
    return (struct checks){.count = 1, .verdict = {VERDICT_NOT_STARTED}, .failure = {{.kind = FAILURE_STATUS}}};
}

Test(score, a_skeleton_is_not_started) {
    struct checks checks = not_started();
    const struct checks *confirmed[] = {&none, &checks};
    for (int c = 0; c < 2; c++) {
        struct marks marks = score_checks(&task, &checks, confirmed[c]);
        score_performance(&marks, &task, NULL);
        for (int i = 0; i < marks.count; i++) {
            cr_assert_eq(marks.outcome[i].verdict, VERDICT_NOT_STARTED);
            cr_assert_eq(marks.outcome[i].failure.kind, FAILURE_NONE);
        }
    }
}

/* Launches are counted on the CPU backend alone, so it alone tells an unchanged skeleton from a block without a part. */
Test(score, a_part_that_is_not_started_fails) {
    struct checks gpu = not_started(), cpu = failed(1, FAILURE_STATUS, "part-not-started");
    struct marks marks = score_checks(&task, &gpu, &cpu);
    cr_assert_eq(marks.outcome[0].verdict, VERDICT_FAIL);
    cr_assert_str_eq(marks.outcome[0].failure.diagnosis, "part-not-started");
}

Test(score, a_race_that_the_gpu_did_not_show_fails) {
    struct checks gpu = passed(4), cpu = failed(3, FAILURE_FINDING, "race");
    struct marks marks = score_checks(&task, &gpu, &cpu);
    cr_assert_eq(marks.outcome[2].verdict, VERDICT_FAIL);
    cr_assert_eq(marks.outcome[2].points, 0.0);
    cr_assert_str_eq(marks.outcome[2].failure.diagnosis, "race");
    cr_assert_eq(marks.outcome[3].verdict, VERDICT_NOT_RUN);
}

Test(score, the_backend_that_says_more_is_heard) {
    struct checks gpu = failed(1, FAILURE_WRONG, "known"), cpu = failed(1, FAILURE_WRONG, "other");
    cr_assert_str_eq(score_checks(&task, &gpu, &cpu).outcome[0].failure.diagnosis, "known");
    gpu = failed(1, FAILURE_WRONG, NULL);
    cr_assert_str_eq(score_checks(&task, &gpu, &cpu).outcome[0].failure.diagnosis, "other");
    gpu = failed(1, FAILURE_WRONG, "known");
    cpu = failed(1, FAILURE_FINDING, NULL);
    cr_assert_eq(score_checks(&task, &gpu, &cpu).outcome[0].failure.kind, FAILURE_FINDING);
    cpu = passed(1);
    cr_assert_str_eq(score_checks(&task, &gpu, &cpu).outcome[0].failure.diagnosis, "known");
}

Test(score, an_obstacle_fails_the_first_check) {
    struct task stopped = task;
    stopped.gpu = true;
    stopped.obstacle.kind = FAILURE_BUILD;
    struct marks marks = score_obstacle(&stopped);
    cr_assert_eq(marks.count, 7);
    cr_assert_eq(marks.outcome[0].verdict, VERDICT_FAIL);
    cr_assert_eq(marks.outcome[0].failure.kind, FAILURE_BUILD);
    cr_assert_eq(marks.outcome[6].verdict, VERDICT_NOT_RUN);
}

static struct marks perform(const struct task *of, const struct performance *performance) {
    struct checks checks = passed(4);
    struct marks marks = score_checks(of, &checks, &none);
    score_performance(&marks, of, performance);
    return marks;
}

Test(score, performance_of_one_counted_call) {
    struct performance performance = {.is_counted = true, .counted = moved(2.0)}; /* in bytes once the floor */
    performance.counted.counters.largest_grid_warps = 64;
    struct marks marks = perform(&task, &performance);
    cr_assert_eq(marks.outcome[4].points, 5.0, "%s", marks.outcome[4].measured);
    cr_assert_eq(marks.outcome[5].points, 2.0);
    performance.failure.kind = FAILURE_CRASH;
    marks = perform(&task, &performance);
    cr_assert_eq(marks.outcome[4].verdict, VERDICT_FAIL);
    cr_assert_eq(marks.outcome[5].verdict, VERDICT_NOT_RUN, "the same call");
    performance.is_counted = false;
    marks = perform(&task, &performance);
    cr_assert(strstr(marks.outcome[4].measured, "not counted"));
}

Test(score, figures_wait_for_the_prediction) {
    struct task waiting = task;
    waiting.shows_figures = false;
    waiting.gpu = true;
    struct performance performance = {.is_counted = true, .counted = moved(8.0)};
    struct marks marks = perform(&waiting, &performance);
    cr_assert_eq(marks.outcome[4].verdict, VERDICT_FAIL);
    cr_assert_eq(marks.outcome[4].figure, 0.0, "also a bad figure is hidden");
    cr_assert_eq(marks.outcome[6].verdict, VERDICT_WAITING);
}

Test(score, less_than_the_floor_is_a_fault) {
    struct result result = moved(0.9);
    struct outcome outcome = score(&traffic_check, &result);
    cr_assert_eq(outcome.verdict, VERDICT_FAIL);
    cr_assert_eq(outcome.points, 0.0);
    cr_assert_eq(outcome.failure.kind, FAILURE_UNCOUNTED);
    cr_assert(strstr(outcome.failure.text, "not counted"), "%s", outcome.failure.text);
    result.products = 2; /* which may have moved the rest */
    cr_assert_eq(score(&traffic_check, &result).verdict, VERDICT_PASS);
    result = moved(1.0);
    cr_assert_eq(score(&traffic_check, &result).verdict, VERDICT_PASS);
}

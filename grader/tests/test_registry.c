/* registry: every lab is worth 100 points, divided as promised, and its tables are consistent. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../predict.h"
#include "../profile.h"
#include "../registry.h"

TestSuite(registry, .timeout = 20);

static int points_of(const struct step *step, bool correctness) {
    int points = 0;
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (const struct check *check = exercise->checks; check->kind; check++) {
            if (check_is_correctness(check->kind) == correctness) { points += check->points; }
        }
    }
    return points;
}

Test(registry, a_lab_is_70_correctness_20_counted_10_predicted) {
    for (const struct step *step = steps; step->name; step++) {
        cr_assert_eq(points_of(step, true), 70, "%s: %d", step->name, points_of(step, true));
        cr_assert_eq(points_of(step, false), 20, "%s: %d", step->name, points_of(step, false));
        cr_assert_eq(step->predictions.points, 10);
        cr_assert_eq(step->predictions.kind, CHECK_PREDICTION);
    }
}

Test(registry, exercises_name_ops_files_and_targets) {
    for (const struct step *step = steps; step->name; step++) {
        cr_assert(strncmp(step->folder, step->name, strlen(step->name)) == 0);
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            cr_assert(op_find(exercise->op), "%s", exercise->op);
            cr_assert(strstr(exercise->file, ".cu"), "%s", exercise->file);
            cr_assert(strlen(exercise->title) <= 30, "%s does not fit its column", exercise->title);
            char launcher[64];
            op_launcher_name(op_find(exercise->op), exercise->type, launcher, sizeof launcher);
            cr_assert_eq(exercise_find(step, launcher), exercise, "%s appears twice", launcher);
            cr_assert(op_find(exercise->op)->types >> exercise->type & 1, "%s", launcher);
            cr_assert_eq(exercise->traffic.sizes.type, exercise->type, "%s", launcher);
            cr_assert_eq(exercise->bands.sizes.type, exercise->type, "%s", launcher);
            if (op_is_causal(op_find(exercise->op))) {
                const struct op_sizes *sizes = &exercise->bands.sizes;
                cr_assert_eq(sizes->N, sizes->B * sizes->H * sizes->T);
                cr_assert_eq(exercise->traffic.sizes.N / exercise->traffic.sizes.T, 1);
            }
            for (const struct check *check = exercise->checks; check->kind; check++) {
                cr_assert(!exercise->optional || check->points == 0, "track B carries no points");
                if (check->kind != CHECK_TRAFFIC) { continue; }
                for (int i = 1; i < TRAFFIC_TIERS; i++) {
                    cr_assert(exercise->traffic.limit[i] > exercise->traffic.limit[i - 1]);
                    cr_assert(exercise->traffic.percent[i] < exercise->traffic.percent[i - 1]);
                }
                cr_assert_eq(exercise->traffic.percent[0], 100);
                cr_assert(exercise->parallel.warps > 0 && exercise->parallel.reference_chain > 0);
            }
        }
    }
}

Test(registry, correctness_comes_before_performance) {
    for (const struct step *step = steps; step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            bool performance = false;
            for (const struct check *check = exercise->checks; check->kind; check++) {
                cr_assert(!performance || !check_is_correctness(check->kind), "%s", exercise->op);
                performance = performance || !check_is_correctness(check->kind);
            }
        }
    }
}

Test(registry, lookups) {
    cr_assert_eq(step_find("step1"), &steps[0]);
    cr_assert_null(step_find("step"));
    cr_assert_null(step_find(""));
    cr_assert_eq(step_after(&steps[0]), &steps[1]);
    const struct step *last = steps;
    while (last[1].name) { last++; }
    cr_assert_null(step_after(last));
    cr_assert_null(exercise_find(&steps[0], "nothing"));
    const struct step *fused = step_find("step3");
    cr_assert_eq(exercise_find(fused, "causal_softmax_forward")->type, TYPE_F32);
    cr_assert_eq(exercise_find(fused, "causal_softmax_forward_bf16")->type, TYPE_BF16);
    cr_assert(exercise_is(exercise_find(fused, "causal_softmax_forward_bf16"), "causal_softmax_forward"));
    cr_assert_null(exercise_find(&steps[0], "softmax_forward_bf16"));
}

Test(registry, only_the_labs_own_files_are_taken) {
    const struct step *step = step_find("step2");
    cr_assert(step_owns_file(step, "softmax.cu"));
    cr_assert(step_owns_file(step, "reduce.cuh"));
    cr_assert(step_owns_file(step, PREDICTIONS_FILE));
    cr_assert(!step_owns_file(step, "Makefile"));
    cr_assert(!step_owns_file(step, "residual.cu"));
    cr_assert(!step_owns_file(step, "../softmax.cu"));
    cr_assert(step_owns_file(step_find("step3"), "vec.cuh"));
    cr_assert(step_owns_file(step_find("step3"), "residual_layernorm_backward.cu"));
}

Test(registry, questions_can_be_answered) {
    for (const struct step *step = steps; step->name; step++) {
        cr_assert(predict_question_count(step) >= 3);
        for (int i = 0; i < predict_question_count(step); i++) {
            const struct question *question = &step->questions[i];
            cr_assert(question->low < question->high);
            cr_assert(question->counted != NULL || question->truth > 0.0, "%s has no answer", question->key);
            if (question->counted) { cr_assert(exercise_find(step, question->counted), "%s", question->counted); }
            if (question->truth > 0.0) {
                cr_assert(question->truth >= question->low && question->truth <= question->high);
            }
        }
    }
}

/* Every file that a program is linked with is some exercise's own, so that it is marked, checked and taken from a submission. */
Test(registry, parts_are_exercises) {
    int parts = 0;
    for (const struct step *step = steps; step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++, parts++) {
                cr_assert(step_owns_file(step, exercise->parts[i]), "%s", exercise->parts[i]);
            }
        }
    }
    cr_assert(parts > 0);
}

static double truth(const char *step, const char *key) {
    for (int i = 0; i < predict_question_count(step_find(step)); i++) {
        const struct question *question = &step_find(step)->questions[i];
        if (strcmp(question->key, key) == 0) { return question->truth; }
    }
    return 0.0;
}

Test(registry, computed_answers_are_the_profiles) {
    cr_assert(fabs(truth("step1", "softmax_share") - profile_speedup(1.0, 0.0, 0.0)) < 0.006);
    cr_assert(fabs(truth("step1", "all_share") - profile_speedup(1.0, 1.0, 1.0)) < 0.006);
    cr_assert(fabs(truth("step2", "all_share") - profile_speedup(1.5, 2.0, 0.0)) < 0.006);
    double products = 0.0;
    for (int i = 0; i < PROFILE_ROWS; i++) { products += profile[i].flops > 0.0 ? profile_ms(&profile[i], 1.0) : 0.0; }
    cr_assert(fabs(truth("step4", "all_share") - profile_naive_ms() / products) < 0.006);
    /* causal softmax moves 1.5 of softmax's 2; LayerNorm and residual add 2 + 3 apart, 4 as one */
    cr_assert(fabs(truth("step3", "all_share") - profile_speedup(0.75, 1.0, 2.0 / 3.0)) < 0.006, "%g",
              profile_speedup(0.75, 1.0, 2.0 / 3.0));
}

Test(registry, the_profile_is_gpt2_smalls) {
    /* 124M parameters: 2 operations each a token, attention's products beside them */
    double products = profile[0].flops / 1024.0 / 2.0;
    cr_assert(products > 123e6 && products < 125e6, "%g multiply-adds a token", products);
    cr_assert_eq(profile[2].launches, 12);
    cr_assert_eq(profile[3].launches, 25);
    cr_assert_eq(profile[4].launches, 24);
    cr_assert_eq(profile[2].floor_bytes, 12.0 * 12.0 * 1024.0 * 1024.0 * 8.0);
}

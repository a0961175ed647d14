/* ladders: every kernel of every reference solution is right on the CPU backend and uses at most half of the tolerance:
 * tolerances are calibrated on these. By default only the kernel that a launcher chooses is tried; with TEST_ALL=1 in the
 * environment, all of its ladder are.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "common/ops/elements.h"
#include "common/ops/reference.h"
#include "labs.h"

TestSuite(ladders, .timeout = 240);

enum { CUDA_INVALID_VALUE = 1, MAX_RUNGS = 12, MAX_EXERCISES = 48 };

static const double headroom = 0.5; /* of the tolerance, at most, is used by a right kernel */

struct ladder {
    struct runner runner;
    int rung;
};

static enum child_status call(void *context, const struct job *job, void *const buffers[], struct result *result,
                              struct finding_record **findings) {
    struct ladder *ladder = context;
    struct job with_rung = *job;
    with_rung.rung = ladder->rung;
    return runner_call(&ladder->runner, &with_rung, buffers, result, findings);
}

static const char *message(void *context) {
    return ((struct ladder *)context)->runner.child.message;
}

/* The largest error in units of the tolerance. */
static double worst(const struct evidence *evidence) {
    double worst = 0.0;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        for (int t = 0; t < op_tensor_count(evidence->op); t++) {
            if (element_type(evidence->op, t, evidence->type) != TYPE_F32) { continue; } /* see misrounded() */
            for (size_t k = 0; shown->got[t] && k < op_elements(evidence->op, t, &shown->test.sizes); k++) {
                double tolerance = reference_tolerance(shown->condition[t][k]);
                if (!isfinite(shown->expected[t][k]) || !isfinite(tolerance) || tolerance == 0.0) { continue; }
                worst = fmax(worst, fabs(shown->got[t][k] - shown->expected[t][k]) / tolerance);
            }
        }
    }
    return worst;
}

/* The share of 16-bit results that are not the nearest, in units of what is allowed. */
static double misrounded(const struct evidence *evidence) {
    double worst = 0.0;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        for (int t = 0; t < op_tensor_count(evidence->op); t++) {
            enum op_type type = element_type(evidence->op, t, evidence->type);
            size_t count = op_elements(evidence->op, t, &shown->test.sizes);
            long found = 0;
            for (size_t k = 0; shown->got[t] && k < count; k++) {
                found += reference_misrounded(type, shown->expected[t][k], shown->condition[t][k], shown->got[t][k]);
            }
            worst = fmax(worst, (double)found / (double)reference_misrounded_allowed(count));
        }
    }
    return worst;
}

/* False when the ladder has no such kernel. */
static bool climb(struct ladder *ladder, const struct step *step, const struct exercise *exercise) {
    static const enum check_kind correctness[] = {CHECK_SHAPES, CHECK_VALUES, CHECK_MEMORY, CHECK_SECRET};
    struct device device = {.call = call, .message = message, .context = ladder};
    struct evidence evidence;
    struct failure failure = {0};
    evidence_init(&evidence, op_find(exercise->op), exercise->type);
    for (int i = 0; i < 4; i++) {
        enum verdict verdict = check_run(&device, correctness[i], 2024, 31, &evidence, &failure);
        bool past = ladder->rung > 0 && evidence.cases[0]->status == CUDA_INVALID_VALUE;
        if (past || failure.kind == FAILURE_MISSING) {
            evidence_free(&evidence);
            return false;
        }
        cr_assert(verdict == VERDICT_PASS,
                  "%s, %s_%s, kernel %d: check %s fails at N = %d, C = %d, %s: %.9g, not %.9g; %s", step->name,
                  exercise->op, op_type_name(exercise->type), ladder->rung, check_name(correctness[i]), failure.sizes.N,
                  failure.sizes.C, failure.values, failure.got, failure.expected, failure.text);
    }
    double used = fmax(worst(&evidence), misrounded(&evidence));
    printf("%s %s_%s kernel %d: uses %.3f of the tolerance\n", step->name, exercise->op, op_type_name(exercise->type),
           ladder->rung, used);
    cr_assert(used <= headroom, "%s, %s, kernel %d uses %.2f of the tolerance", step->name, exercise->op, ladder->rung,
              used);
    evidence_free(&evidence);
    return true;
}

/* Exercise number `index` of all steps. */
static const struct exercise *exercise_at(int index, const struct step **of) {
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            *of = step;
            if (index-- == 0) { return exercise; }
        }
    }
    return NULL;
}

ParameterizedTestParameters(ladders, every_kernel_is_right) {
    static int index[MAX_EXERCISES];
    const struct step *step;
    int count = 0;
    for (; exercise_at(count, &step); count++) { index[count] = count; }
    return cr_make_param_array(int, index, (size_t)count);
}

ParameterizedTest(int *index, ladders, every_kernel_is_right) {
    static const char *const environment[] = {"SIMT_QUIET=1", NULL};
    const struct step *step;
    const struct exercise *exercise = exercise_at(*index, &step);
    char path[512];
    struct limits limits = limits_default;
    struct ladder ladder = {.rung = 0};
    limits.environment = environment;
    snprintf(path, sizeof path, "%s/ladders/%s/%.*s", TEST_BUILD, step->folder, (int)strcspn(exercise->file, "."),
             exercise->file);
    cr_assert(runner_start(&ladder.runner, path, &limits) == CHILD_OK, "%s", ladder.runner.child.message);
    cr_assert(climb(&ladder, step, exercise), "%s has no %s", path, exercise->op);
    int rungs = getenv("TEST_ALL") ? MAX_RUNGS : 0;
    for (ladder.rung = 1; ladder.rung <= rungs && climb(&ladder, step, exercise); ladder.rung++) {}
    runner_stop(&ladder.runner);
}

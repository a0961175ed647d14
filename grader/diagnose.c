#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "common/ops/elements.h"
#include "mistakes.h"

/* ---- computed mistakes: do the outputs agree with those that the mistake produces? ---- */

enum { MISTAKE_CASES = 10, MISTAKE_ELEMENTS = 9000 };

/* The sum of the differences between the case's outputs and the values, which `rounded` rounds as a kernel stores them. More
 * than `limit` is not summed further. */
static double distance(const struct op *op, const struct evidence_case *shown, double *const values[], bool rounded,
                       double limit) {
    double sum = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!shown->got[t]) { continue; }
        enum op_type type = element_type(op, t, shown->test.sizes.type);
        for (size_t i = 0, end = op_elements(op, t, &shown->test.sizes); i < end && sum <= limit; i++) {
            double rounding = reference_tolerance(shown->condition[t][i]);
            double value = rounded ? element_round(type, values[t][i]) : values[t][i];
            if (isinf(rounding) || fabs(shown->got[t][i] - value) <= rounding) { continue; }
            sum += evidence_difference(shown->got[t][i], value);
        }
    }
    return sum;
}

/* ---- mistakes ---- */

/* The difference between the case's outputs and those that the mistake produces. */
static double distance_of(const struct op_mistake *mistake, int variant, const struct op *op,
                          const struct evidence_case *shown, double limit) {
    double *out[OP_MAX_TENSORS] = {0};
    for (int t = 0; t < op_tensor_count(op); t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (shown->got[t]) { out[t] = calloc(count + 1, sizeof(double)); }
        if (shown->got[t] && !out[t]) { abort(); }
    }
    struct op_call call = {
        .op = op, .sizes = &shown->test.sizes, .tensor = (const float *const *)shown->given, .expected = out};
    mistake->compute(&call, variant);
    double sum = distance(op, shown, out, true, limit);
    for (int t = 0; t < op_tensor_count(op); t++) { free(out[t]); }
    return sum;
}

/* Do the call's outputs differ from the mistake's by less than a twentieth of the measure? */
static bool agrees(const struct op_mistake *mistake, int variant, const struct op *op,
                   const struct evidence_case *shown, double measure) {
    return distance_of(mistake, variant, op, shown, 0.05 * measure) <= 0.05 * measure;
}

static long elements_of(const struct evidence_case *shown) {
    return (long)shown->test.sizes.N * shown->test.sizes.C;
}

/* Small calls are compared, and of the wrong ones at least the smallest. */
static bool is_compared(const struct evidence *evidence, const struct evidence_case *shown) {
    if (elements_of(shown) <= MISTAKE_ELEMENTS) { return true; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *other = evidence->cases[i];
        if (evidence_case_is_wrong(other) && elements_of(other) < elements_of(shown)) { return false; }
    }
    return evidence_case_is_wrong(shown);
}

/* Calls in place are compared where only such calls are wrong: else a later write may have spoiled their input. */
static bool only_in_place_are_wrong(const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (evidence_case_is_wrong(shown) && !shown->test.in_place) { return false; }
    }
    return true;
}

/* What all mistakes are compared with. */
struct compared {
    const struct evidence *evidence;
    bool one_path;
    int count; /* wrong calls, and how far their outputs are from the right ones */
    const struct evidence_case *wrong[MISTAKE_CASES];
    double measure[MISTAKE_CASES];
};

static void add_wrong_calls(struct compared *compared) {
    const struct evidence *evidence = compared->evidence;
    bool in_place = only_in_place_are_wrong(evidence);
    for (int i = 0; i < evidence->count && compared->count < MISTAKE_CASES; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown) || (shown->test.in_place && !in_place) || !is_compared(evidence, shown)) {
            continue;
        }
        compared->measure[compared->count] = distance(evidence->op, shown, shown->expected, false, (double)INFINITY);
        compared->wrong[compared->count++] = shown;
    }
}

static bool agrees_with_wrong_calls(const struct op_mistake *mistake, int variant, const struct compared *with) {
    for (int i = 0; i < with->count; i++) {
        if (!agrees(mistake, variant, with->evidence->op, with->wrong[i], with->measure[i])) { return false; }
    }
    return with->count > 0;
}

/* Does the mistake change next to nothing in right calls? */
static bool agrees_with_right_calls(const struct op_mistake *mistake, int variant, const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool right = shown->returned && shown->failure.kind == FAILURE_NONE && !shown->test.in_place;
        double elements = (double)op_elements(evidence->op, 0, &shown->test.sizes);
        if (right && is_compared(evidence, shown) && !agrees(mistake, variant, evidence->op, shown, elements)) {
            return false;
        }
    }
    return true;
}

/* Wrong elements that are numbers, of the calls that are compared: agreement on NaN excludes little. */
static long wrong_numbers(const struct evidence *evidence) {
    long numbers = 0;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown) || !is_compared(evidence, shown)) { continue; }
        for (int t = 0; t < op_tensor_count(evidence->op); t++) {
            for (size_t k = 0, end = op_elements(evidence->op, t, &shown->test.sizes); shown->wrong[t] && k < end;
                 k++) {
                numbers += isfinite(shown->got[t][k]) && evidence_is_wrong(evidence, shown, t, k);
            }
        }
    }
    return numbers;
}

static const struct op_mistake *record_of(const struct op_mistake *mistake) {
    return mistake->cause || mistake->fact ? mistake : diagnosis_find(mistake->id);
}

/* A mistake in what threads exchange is none of a kernel whose threads exchange nothing, though its numbers may agree. */
static bool is_possible(const struct op_mistake *mistake, const struct evidence *evidence) {
    static const char *const words[] = {"lane", "shuffle", "shfl", "warp's", "barrier", "tree"};
    const char *text = mistake->cause ? mistake->cause : mistake->fact;
    bool exchanges = evidence->exchanges > 0 || evidence->bytes == 0; /* 0 bytes: not counted */
    for (size_t i = 0; text && !exchanges && i < sizeof words / sizeof words[0]; i++) {
        if (strstr(text, words[i])) { return false; }
    }
    return true;
}

/* How far the outputs of the calls are those that the mistake computes. */
enum agreement {
    NO_AGREEMENT,
    ON_ONE_PATH, /* the wrong calls have one property in common, and agree; right calls would be wrong with this mistake */
    EVERYWHERE
};

/* Right calls are small, so they are compared first. */
static enum agreement agreement_of(const struct op_mistake *mistake, const struct compared *with) {
    enum agreement best = NO_AGREEMENT;
    for (int i = 0; i < OP_MAX_VARIANTS && mistake->variant[i]; i++) {
        bool right = agrees_with_right_calls(mistake, mistake->variant[i], with->evidence);
        if ((!right && !with->one_path) || !agrees_with_wrong_calls(mistake, mistake->variant[i], with)) { continue; }
        if (right) { return EVERYWHERE; }
        best = ON_ONE_PATH;
    }
    return best;
}

/* The computed mistakes of the op that agree best, in their order: at most `most` with different ids. Returns their number. */
static int computed_mistakes(const struct evidence *evidence, const struct op_mistake **found, int most,
                             enum agreement *agreement) {
    const struct op_reference *reference = reference_of(evidence->op);
    enum { ENOUGH = 16 }; /* to exclude chance */
    struct compared with = {.evidence = evidence};
    with.one_path =
        !only_in_place_are_wrong(evidence) && calls_share_a_path(evidence) && wrong_numbers(evidence) >= ENOUGH;
    add_wrong_calls(&with);
    enum agreement best = ON_ONE_PATH;
    int count = 0;
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            bool computes = mistake->compute && is_possible(record_of(mistake), evidence);
            enum agreement here = computes ? agreement_of(mistake, &with) : NO_AGREEMENT;
            if (here < best) { continue; }
            if (here > best) { count = 0; }
            best = here;
            bool again = false;
            for (int k = 0; k < count; k++) { again = again || strcmp(found[k]->id, mistake->id) == 0; }
            if (!again && count < most) { found[count++] = mistake; }
        }
    }
    *agreement = best;
    return count;
}

/* ---- order of diagnosis ---- */

static const struct op_mistake *first_shown(const struct op_mistake *list, enum op_mistake_stage stage, bool is_own,
                                            const struct evidence *evidence) {
    for (const struct op_mistake *mistake = list; mistake->id; mistake++) {
        enum op_mistake_stage own = mistake->stage ? mistake->stage : MISTAKE_SUSPECTED;
        if (!mistake->predicate || (is_own && own != stage)) { continue; }
        if (stage == MISTAKE_SUSPECTED && !is_possible(record_of(mistake), evidence)) { continue; }
        if (mistake->predicate(evidence, mistake->argument)) { return mistake; }
    }
    return NULL;
}

static const struct op_mistake *first_of_stage(enum op_mistake_stage stage, const struct evidence *evidence) {
    const struct op_reference *reference = reference_of(evidence->op);
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        const struct op_mistake *found = first_shown(reference->mistakes[i], stage, true, evidence);
        if (found) { return found; }
    }
    return mistakes_of_stage[stage] ? first_shown(mistakes_of_stage[stage], stage, false, evidence) : NULL;
}

/* More than two candidates say little: then a fact is the diagnosis. */
static bool diagnose_computed(const struct evidence *evidence, struct diagnosis *diagnosis) {
    const struct op_mistake *found[3];
    enum agreement agreement;
    int count = computed_mistakes(evidence, found, 3, &agreement);
    diagnosis->candidates = count;
    if (count == 0 || count > 2) { return false; }
    diagnosis->found = record_of(found[0]);
    diagnosis->other = count > 1 ? record_of(found[1]) : NULL;
    if (agreement == EVERYWHERE) { diagnosis->calls[0] = '\0'; } /* the mistake says why the other calls are right */
    return true;
}

struct diagnosis diagnose(const struct evidence *evidence) {
    struct diagnosis diagnosis = {.found = NULL};
    calls_describe(evidence, diagnosis.calls, sizeof diagnosis.calls);
    for (int stage = MISTAKE_REPORTED; stage < MISTAKE_STAGES && !diagnosis.found; stage++) {
        if (stage == MISTAKE_COMPUTED) {
            diagnose_computed(evidence, &diagnosis);
        } else {
            const struct op_mistake *found = first_of_stage((enum op_mistake_stage)stage, evidence);
            diagnosis.found = found ? record_of(found) : NULL;
        }
    }
    if (diagnosis.found && diagnosis.found->of_calls) { diagnosis.calls[0] = '\0'; }
    if (!diagnosis.found) { results_describe(evidence, diagnosis.results, sizeof diagnosis.results); }
    return diagnosis;
}

/* ---- all mistakes ---- */

/* List i: the general lists first, then those of each op; NULL after the last. */
static const struct op_mistake *list_at(int i) {
    for (int k = 0; mistakes_lists[k]; k++) {
        if (i-- == 0) { return mistakes_lists[k]; }
    }
    for (int op = 0; ops[op]; op++) {
        const struct op_reference *reference = reference_of(ops[op]);
        for (int k = 0; k < OP_MAX_MISTAKE_LISTS && reference->mistakes[k]; k++) {
            if (i-- == 0) { return reference->mistakes[k]; }
        }
    }
    return NULL;
}

const struct op_mistake *diagnosis_next(struct diagnosis_place *place) {
    for (;;) {
        const struct op_mistake *list = list_at(place->list);
        if (!list) { return NULL; }
        if (list[place->entry].id) { return &list[place->entry++]; }
        place->list++;
        place->entry = 0;
    }
}

const struct op_mistake *diagnosis_find(const char *id) {
    struct diagnosis_place place = {0, 0};
    const struct op_mistake *mistake = diagnosis_next(&place);
    while (mistake && ((!mistake->cause && !mistake->fact) || strcmp(mistake->id, id) != 0)) {
        mistake = diagnosis_next(&place);
    }
    return mistake;
}

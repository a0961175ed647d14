#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "mistakes.h"

/* ---- computed mistakes: do the outputs agree with those that the mistake produces? ---- */

enum { MISTAKE_CASES = 10, MISTAKE_ELEMENTS = 9000 };

static double distance(const struct op *op, const struct evidence_case *shown, double *const values[]) {
    double sum = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!shown->got[t]) { continue; }
        for (size_t i = 0, end = op_elements(op, t, &shown->test.sizes); i < end; i++) {
            double rounding = reference_tolerance(shown->condition[t][i]);
            if (isinf(rounding) || fabs(shown->got[t][i] - values[t][i]) <= rounding) { continue; }
            sum += evidence_difference(shown->got[t][i], values[t][i]);
        }
    }
    return sum;
}

/* ---- mistakes ---- */

/* The difference between the case's outputs and those that the mistake produces. */
static double distance_of(const struct op_mistake *mistake, int variant, const struct op *op,
                          const struct evidence_case *shown) {
    double *out[OP_MAX_TENSORS] = {0};
    for (int t = 0; t < op_tensor_count(op); t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (shown->got[t]) { out[t] = calloc(count + 1, sizeof(double)); }
        if (shown->got[t] && !out[t]) { abort(); }
    }
    struct op_call call = {
        .op = op, .sizes = &shown->test.sizes, .tensor = (const float *const *)shown->given, .expected = out};
    mistake->compute(&call, variant);
    for (int t = 0; t < op_tensor_count(op); t++) { /* rounded as a kernel stores it */
        enum op_type type = element_type(op, t, shown->test.sizes.type);
        for (size_t i = 0, end = op_elements(op, t, &shown->test.sizes); out[t] && i < end; i++) {
            out[t][i] = element_round(type, out[t][i]);
        }
    }
    double sum = distance(op, shown, out);
    for (int t = 0; t < op_tensor_count(op); t++) { free(out[t]); }
    return sum;
}

/* A wrong case agrees with the mistake's outputs. A right case does not contradict the mistake, if the mistake changes
 * next to nothing there. */
static bool agrees(const struct op_mistake *mistake, int variant, const struct op *op,
                   const struct evidence_case *shown) {
    double measure = evidence_case_is_wrong(shown) ? distance(op, shown, shown->expected)
                                                   : (double)op_elements(op, 0, &shown->test.sizes);
    return distance_of(mistake, variant, op, shown) <= 0.05 * measure;
}

static bool agrees_with_all(const struct op_mistake *mistake, int variant, const struct evidence *evidence,
                            bool wrong) {
    int looked = 0;
    for (int i = 0; i < evidence->count && (!wrong || looked < MISTAKE_CASES); i++) {
        const struct evidence_case *shown = evidence->cases[i];
        long count = (long)shown->test.sizes.N * shown->test.sizes.C;
        bool usable = wrong ? evidence_case_is_wrong(shown) : shown->returned && shown->failure.kind == FAILURE_NONE;
        if (!usable || shown->test.in_place || count > MISTAKE_ELEMENTS) { continue; }
        if (!agrees(mistake, variant, evidence->op, shown)) { return false; }
        looked++;
    }
    return looked > 0 || !wrong;
}

static bool is_computed(const struct op_mistake *mistake, const struct evidence *evidence) {
    for (int i = 0; i < OP_MAX_VARIANTS && mistake->variant[i]; i++) {
        int variant = mistake->variant[i];
        if (agrees_with_all(mistake, variant, evidence, true) && agrees_with_all(mistake, variant, evidence, false)) {
            return true;
        }
    }
    return false;
}

/* ---- order of diagnosis ---- */

static bool matches(const struct op_mistake *mistake, const struct evidence *evidence) {
    if (mistake->compute) { return is_computed(mistake, evidence); }
    return mistake->predicate && mistake->predicate(evidence, mistake->argument);
}

static const struct op_mistake *first_general(const struct op_mistake *list, const struct evidence *evidence) {
    while (list->id && !matches(list, evidence)) { list++; }
    return list->id ? list : NULL;
}

static enum op_mistake_stage stage_of(const struct op_mistake *mistake) {
    return mistake->stage ? mistake->stage : mistake->compute ? MISTAKE_COMPUTED : MISTAKE_SUSPECTED;
}

static const struct op_mistake *first_own(const struct op_reference *reference, enum op_mistake_stage stage,
                                          const struct evidence *evidence) {
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            if (stage_of(mistake) == stage && matches(mistake, evidence)) { return mistake; }
        }
    }
    return NULL;
}

const struct op_mistake *diagnose(const struct evidence *evidence) {
    const struct op_reference *reference = reference_of(evidence->op);
    for (int stage = MISTAKE_REPORTED; stage < MISTAKE_STAGES; stage++) {
        const struct op_mistake *found = first_own(reference, (enum op_mistake_stage)stage, evidence);
        if (!found && mistakes_of_stage[stage]) { found = first_general(mistakes_of_stage[stage], evidence); }
        if (found) { return found->cause ? found : diagnosis_find(found->id); }
    }
    return NULL;
}

const struct op_mistake *diagnose_other(const struct evidence *evidence, const struct op_mistake *found) {
    const struct op_reference *reference = reference_of(evidence->op);
    const struct op_mistake *other = NULL;
    bool is_computed_too = false;
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            if (!mistake->compute || !is_computed(mistake, evidence)) { continue; }
            if (strcmp(mistake->id, found->id) == 0) {
                is_computed_too = true;
            } else if (!other) {
                other = mistake->cause ? mistake : diagnosis_find(mistake->id);
            }
        }
    }
    return is_computed_too ? other : NULL;
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
    while (mistake && (!mistake->cause || strcmp(mistake->id, id) != 0)) { mistake = diagnosis_next(&place); }
    return mistake;
}

#include "evidence.h"

#include <math.h>
#include <string.h>

#include "elements.h"
#include "reference.h"

const struct evidence_case *evidence_failure(const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        if (evidence->cases[i]->failure.kind != FAILURE_NONE) { return evidence->cases[i]; }
    }
    return NULL;
}

bool evidence_case_is_wrong(const struct evidence_case *shown) {
    if (!shown->returned) { return false; }
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        if (shown->wrong[t]) { return true; }
    }
    return false;
}

bool evidence_all_wrong(const struct evidence *evidence, evidence_property *holds) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        if (!evidence_case_is_wrong(evidence->cases[i])) { continue; }
        if (!holds(evidence, evidence->cases[i])) { return false; }
        found = true;
    }
    return found;
}

bool evidence_is_wrong(const struct evidence *evidence, const struct evidence_case *shown, int tensor, size_t i) {
    enum op_type type = element_type(evidence->op, tensor, shown->test.sizes.type);
    double expected = shown->expected[tensor][i], condition = shown->condition[tensor][i];
    float got = shown->got[tensor][i];
    return !reference_accepts(type, expected, condition, got) ||
           (shown->misrounded[tensor] && reference_misrounded(type, expected, condition, got));
}

bool evidence_untouched(const struct evidence_case *shown, int tensor, size_t i) {
    return memcmp(&shown->got[tensor][i], &shown->given[tensor][i], sizeof(float)) == 0;
}

size_t evidence_elements(const struct evidence *evidence, const struct evidence_case *shown, int tensor) {
    return op_elements(evidence->op, tensor, &shown->test.sizes);
}

double evidence_difference(double a, double b) {
    if (!isfinite(a) || !isfinite(b)) { return (isnan(a) && isnan(b)) || a == b ? 0.0 : 1.0; }
    double size = fmax(fabs(a), fabs(b));
    return size == 0.0 ? 0.0 : fmin(fabs(a - b) / size, 1.0);
}

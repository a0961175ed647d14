/* patterns_outputs.c — signatures in which of several outputs is wrong, and in rows and roundings of one kind. */
#include <math.h>
#include <string.h>

#include "common/elements.h"
#include "patterns.h"

/* Every wrong case has that output wrong, and the other one right. */
static bool only_wrong(const struct evidence *evidence, const char *wrong, const char *right) {
    int w = op_tensor_find(evidence->op, wrong), r = op_tensor_find(evidence->op, right);
    bool found = false;
    if (w < 0 || r < 0) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        if (shown->wrong[r]) { return false; }
        found = found || shown->wrong[w];
    }
    return found;
}

/* ---- statistics ---- */

static bool wrong_are_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        size_t count = shown->wrong[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
        for (size_t i = 0; i < count; i++) {
            if (evidence_is_wrong(evidence, shown, t, i) && !evidence_untouched(shown, t, i)) { return false; }
        }
    }
    return true;
}

/* out is right; argument 1: and the wrong elements of the statistics were never written. */
bool pattern_statistics(const struct signature *signature, const struct evidence *evidence) {
    bool forward = op_tensor_find(evidence->op, "out") == 0;
    bool wrong = only_wrong(evidence, "mean", "out") || only_wrong(evidence, "rstd", "out");
    return forward && wrong && (!signature->argument || pattern_all_wrong(evidence, wrong_are_untouched));
}

/* Every wrong row has a variance of nearly nothing: 1 / sqrt(variance + eps) is large. */
static bool rows_are_flat(const struct evidence *evidence, const struct evidence_case *shown) {
    enum { LARGE = 30 };
    int rstd = op_tensor_find(evidence->op, "rstd");
    size_t C = (size_t)shown->test.sizes.C;
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        size_t count = shown->wrong[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
        for (size_t i = 0; i < count; i++) {
            size_t n = op_is_scalar(evidence->op->tensor[t].shape) ? i : i / C;
            if (evidence_is_wrong(evidence, shown, t, i) && !(shown->expected[rstd][n] > LARGE)) { return false; }
        }
    }
    return true;
}

bool pattern_flat_rows(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    int rstd = op_tensor_find(evidence->op, "rstd");
    return rstd >= 0 && op_is_output(evidence->op, rstd) && pattern_all_wrong(evidence, rows_are_flat);
}

static bool has_other_eps(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.sizes.eps != 1e-5f;
}

/* Of a backward pass, which is given rstd. */
bool pattern_only_other_eps(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    int rstd = op_tensor_find(evidence->op, "rstd");
    return rstd >= 0 && !op_is_output(evidence->op, rstd) && pattern_all_wrong(evidence, has_other_eps);
}

/* ---- a backward pass: along the rows, or down the columns ---- */

/* argument 0: dinp is right and the parameters' gradients are not; 1: the other way round. */
bool pattern_direction(const struct signature *signature, const struct evidence *evidence) {
    if (signature->argument) {
        return only_wrong(evidence, "dinp", "dweight") && only_wrong(evidence, "dinp", "dbias");
    }
    return only_wrong(evidence, "dweight", "dinp") || only_wrong(evidence, "dbias", "dinp");
}

/* ---- rounding ---- */

/* In some output of 16 bits every wrong element is the neighbour of the right one that is nearer to 0. */
static bool is_cut_off(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        enum op_type type = element_type(evidence->op, t, shown->test.sizes.type);
        bool cut = type != TYPE_F32 && shown->wrong[t] > 0;
        for (size_t i = 0; cut && i < op_elements(evidence->op, t, &shown->test.sizes); i++) {
            double expected = shown->expected[t][i], got = shown->got[t][i];
            double unit = type == TYPE_F16 ? 0x1p-10 : 0x1p-7;
            bool beneath = fabs(got) < fabs(expected) && fabs(expected - got) <= unit * fabs(expected);
            cut = !evidence_is_wrong(evidence, shown, t, i) || beneath;
        }
        if (cut) { return true; }
    }
    return false;
}

static long wrong_elements(const struct evidence *evidence) {
    long count = 0;
    for (int i = 0; i < evidence->count; i++) {
        for (int t = 0; t < OP_MAX_TENSORS; t++) { count += evidence->cases[i]->wrong[t]; }
    }
    return count;
}

bool pattern_cut_off(const struct signature *signature, const struct evidence *evidence) {
    enum { ENOUGH = 50 }; /* not by chance */
    (void)signature;
    return wrong_elements(evidence) >= ENOUGH && pattern_all_wrong(evidence, is_cut_off);
}

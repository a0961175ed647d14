/* The mask of the causal ops, right and with one mistake; and mistakes that are recognised by the elements of a causal
 * matrix, or by the calls, that are wrong. */
#include <math.h>

#include "causal.h"
#include "ops/predicates.h"

void causal_masked_part(const struct op_call *call, const char *out, size_t n, int row, int keys) {
    const float *before = call_given(call, out);
    size_t T = (size_t)call->sizes->C;
    for (size_t j = (size_t)keys; j < T; j++) {
        bool kept = call->sizes->upper && j > (size_t)row % T;
        reference_exact(call_expected(call, out), call_condition(call, out), n * T + j, kept ? before[n * T + j] : 0.0);
    }
}

struct causal_row causal_row_of(int variant, const struct op_sizes *sizes, const float *lengths, int n) {
    struct causal_row row = {.variant = variant, .row = n, .T = sizes->C, .i = n % sizes->C, .length = sizes->C};
    row.scale = sizes->scale;
    row.kept = sizes->upper;
    if (sizes->lengths) { row.length = (int)fminf(fmaxf(lengths[n / (sizes->H * sizes->T)], 0.0f), (float)sizes->T); }
    switch (variant) {
        case CAUSAL_NO_LENGTHS: row.length = row.T; break;
        case CAUSAL_QUERIES_CUT: row.length = row.i < row.length ? row.length : 0; break;
        case CAUSAL_NO_SCALE: row.scale = 1.0; break;
        case CAUSAL_SCALE_TWICE: row.scale *= row.scale; break;
        case CAUSAL_SCALE_DIVIDED: row.scale = 1.0 / row.scale; break;
        default: break;
    }
    return row;
}

bool causal_allows(const struct causal_row *row, int j) {
    int keys = row->i + 1;
    if (row->variant >= CAUSAL_BY_VECTOR && row->variant < CAUSAL_LANES) {
        int vector = 1 << (row->variant - CAUSAL_BY_VECTOR);
        keys = (row->i + vector) / vector * vector;
    }
    switch (row->variant) {
        case CAUSAL_STRICT: keys = row->i; break;
        case CAUSAL_ONE_MORE: keys = row->i + 2; break;
        case CAUSAL_NO_MASK: keys = row->T; break;
        case CAUSAL_ROW_NOT_MODULO: keys = row->row + 1; break;
        case CAUSAL_TRANSPOSED: return j >= row->i && j < row->length;
        default: break;
    }
    return j < keys && j < row->length;
}

void causal_write_masked(const struct causal_row *row, const float *before, int j, double value, double *out) {
    out[j] = row->kept && j > row->i ? before[j] : value;
}

/* ---- predicates ---- */

/* The part of the matrix that an element of output 0 belongs to. */
enum part { ALLOWED, PADDED /* on or below the diagonal, past the length */, ABOVE };

static enum part part_of(const struct evidence *evidence, const struct evidence_case *shown, size_t i) {
    const struct op_sizes *sizes = &shown->test.sizes;
    int row = (int)(i / (size_t)sizes->C), column = (int)(i % (size_t)sizes->C);
    const float *lengths = shown->given[op_tensor_find(evidence->op, "lengths")];
    if (column > row % sizes->C) { return ABOVE; }
    return column < inputs_keys(sizes, lengths, row) ? ALLOWED : PADDED;
}

/* Every wrong element of output 0 is in that part, and in a row of the given kind. */
static bool all_wrong_in(const struct evidence *evidence, const struct evidence_case *shown, enum part part,
                         bool (*holds)(const struct evidence_case *, size_t)) {
    for (size_t i = 0, end = op_elements(evidence->op, 0, &shown->test.sizes); i < end; i++) {
        if (!evidence_is_wrong(evidence, shown, 0, i)) { continue; }
        if (part_of(evidence, shown, i) != part || (holds && !holds(shown, i))) { return false; }
    }
    return true;
}

static bool is_untouched(const struct evidence_case *shown, size_t i) {
    return evidence_untouched(shown, 0, i);
}

static bool above_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    return !shown->test.sizes.upper && all_wrong_in(evidence, shown, ABOVE, NULL);
}

static bool shows_upper_not_zeroed(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, above_untouched);
}

static bool above_written(const struct evidence *evidence, const struct evidence_case *shown) {
    return shown->test.sizes.upper && all_wrong_in(evidence, shown, ABOVE, NULL);
}

static bool shows_upper_written(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, above_written);
}

static bool padding_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    return all_wrong_in(evidence, shown, PADDED, is_untouched);
}

static bool shows_padding_not_zeroed(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, padding_untouched);
}

static bool has_no_keys(const struct evidence *evidence, const struct evidence_case *shown, size_t i) {
    const struct op_sizes *sizes = &shown->test.sizes;
    const float *lengths = shown->given[op_tensor_find(evidence->op, "lengths")];
    size_t sequence = i / (size_t)sizes->C / (size_t)(sizes->H * sizes->T);
    return sizes->lengths && lengths[sequence] <= 0.0f && !isfinite(shown->got[0][i]);
}

static bool empty_rows_wrong(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0, end = op_elements(evidence->op, 0, &shown->test.sizes); i < end; i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && !has_no_keys(evidence, shown, i)) { return false; }
    }
    return true;
}

/* Rows without allowed keys are NaN, and all other elements are right. */
static bool shows_empty_row(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, empty_rows_wrong);
}

static bool is_wrong_at_all(const struct evidence_case *shown) {
    return shown->failure.kind != FAILURE_NONE;
}

/* Every failed call has lengths, and calls without lengths are right. */
static bool shows_only_lengths(const struct evidence *evidence, int argument) {
    (void)argument;
    bool found = false, right = false;
    for (int i = 0; i < evidence->count; i++) {
        bool wrong = is_wrong_at_all(evidence->cases[i]), lengths = evidence->cases[i]->test.sizes.lengths;
        if (wrong && !lengths) { return false; }
        found = found || wrong;
        right = right || (!wrong && !lengths);
    }
    return found && right;
}

/* The only small tensor of a causal op is lengths. */
static bool shows_lengths_index(const struct evidence *evidence, int argument) {
    (void)argument;
    return shows_past_small_tensor(evidence, 0);
}

const struct op_mistake causal_mistakes_shown[] = {
    {.id = "causal-lengths-not-clamped",
     .fact = "only calls with lengths outside 0..T fail: clamp them to 0..T first",
     .of_calls = true,
     .hint = 3,
     .kernel = "causal_softmax_forward/lengths_not_clamped",
     .predicate = shows_only_values,
     .argument = VALUES_LENGTHS,
     .stage = MISTAKE_REPORTED},
    {.id = "lengths-index",
     .cause = "lengths has a wrong index: it has one entry per sequence, lengths[row / (H * T)]",
     .hint = 3,
     .kernel = "causal_softmax_forward/lengths_by_matrix",
     .predicate = shows_lengths_index,
     .stage = MISTAKE_REPORTED},
    {.id = "causal-upper-not-zeroed",
     .fact = "only elements above the diagonal are wrong: with CAUSAL_UPPER_ZERO they must be written as 0",
     .hint = 3,
     .kernel = "causal_softmax_forward/upper_not_zeroed",
     .predicate = shows_upper_not_zeroed,
     .stage = MISTAKE_PLACED},
    {.id = "causal-upper-written",
     .fact =
         "elements above the diagonal are changed: with CAUSAL_UPPER_KEEP none may be, not even by a row's last vector",
     .hint = 3,
     .kernel = "causal_softmax_forward/upper_written",
     .predicate = shows_upper_written,
     .stage = MISTAKE_PLACED},
    {.id = "causal-padding-not-zeroed",
     .fact = "keys from lengths[b] to the diagonal are not written: both forms require 0 there",
     .hint = 3,
     .kernel = "causal_softmax_forward/padding_not_zeroed",
     .predicate = shows_padding_not_zeroed,
     .stage = MISTAKE_PLACED},
    {.id = "causal-empty-row-nan",
     .fact = "only rows without allowed keys are wrong, and not finite: they must be all 0, and 0 / 0 is NaN",
     .hint = 3,
     .kernel = "causal_softmax_forward/empty_row_nan",
     .predicate = shows_empty_row,
     .stage = MISTAKE_PLACED},
    {.id = "causal-masked-nan",
     .fact = "only calls with NaN in masked elements fail: select the allowed elements, since 0 * NaN is NaN",
     .of_calls = true,
     .hint = 2,
     .kernel = "causal_softmax_forward/masked_nan",
     .predicate = shows_only_values,
     .argument = VALUES_MASKED_NAN,
     .stage = MISTAKE_PLACED},
    {.id = "causal-lengths",
     .fact = "only calls with lengths are wrong: lengths[row / (H * T)] is the row's length, and it masks keys, not "
             "queries",
     .of_calls = true,
     .hint = 2,
     .kernel = "causal_softmax_forward/lengths_by_head",
     .predicate = shows_only_lengths,
     .stage = MISTAKE_VAGUE},
    {.id = NULL},
};

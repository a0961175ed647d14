/* softmax_forward in float64, and its known mistakes. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/lanes.h"
#include "ops/predicates.h"
#include "softmax.h"

void softmax_row(const float *x, int C, double scale, double *out, double *condition) {
    double maximum = -INFINITY, largest = 0.0, sum = 0.0;
    bool undefined = false;
    for (int c = 0; c < C; c++) {
        double value = scale * x[c];
        if (isnan(value) || value == INFINITY) { undefined = true; }
        if (value > maximum) { maximum = value; }
        if (isfinite(value)) { largest = fmax(largest, fabs(value)); }
    }
    if (undefined || maximum == -INFINITY) {
        for (int c = 0; c < C; c++) { reference_exact(out, condition, (size_t)c, NAN); }
        return;
    }
    for (int c = 0; c < C; c++) { sum += exp(scale * x[c] - maximum); }
    for (int c = 0; c < C; c++) {
        double below = maximum - scale * x[c];
        out[c] = exp(-below) / sum;
        condition[c] = below == INFINITY ? 0.0 : out[c] * (reference_growth(C) + 2.0 * below + largest);
        if (below != INFINITY && condition[c] < DBL_MIN) {
            condition[c] = DBL_MIN;
        } /* underflow is no mask: the tolerance is not 0 */
    }
}

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    size_t C = (size_t)call->sizes->C;
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i += C) {
        softmax_row(x + i, (int)C, 1.0, out + i, condition + i);
    }
}

static bool rows_sum_to_one(const struct op *op, const struct evidence_case *shown, struct failure *broken) {
    long N = shown->test.sizes.N, C = shown->test.sizes.C;
    for (long n = 0; n < N; n++) {
        if (!invariant_sum_is_one(op, shown, n, C, broken)) { return false; }
    }
    return true;
}

/* ---- softmax with one mistake ---- */

enum { WARP = 32 };

enum {
    NO_MAX = 1,
    MAX_STARTS_AT_ZERO,
    MAX_STARTS_AT_FLT_MIN,
    NOT_NORMALISED,
    SUM_NOT_RESET,
    WRONG_AXIS,
    WHOLE_TENSOR,
    DIVIDED_BY_C,
    BASE_2,
    SIGN,
    TRANSPOSED,   /* element (n, c) is read and written at c * N + n */
    PADDING_WARP, /* lanes past C add exp(0 - max) */
    MAX_IS_LAST,
    MAX_IS_MINIMUM,
    MAX_WITHOUT_LAST,
    NO_RESCALE = 16,         /* + log2 of the lanes that share a row */
    NO_RESCALE_IN_LANE = 32, /* + log2 of the lanes: the lanes' own sums are wrong, merging them is right */
    FIRST_WARP = 48,         /* + log2 of the block: sums of the other warps are lost */
    OWN_WARP = 64,           /* + log2 of the block: every warp uses its own sum */
    LAST_UNSHIFTED = 80,     /* exp(x) / sum */
    SUM_UNSHIFTED,           /* the sum is of exp(x) */
    SUM_WITHOUT_LAST,
    SUM_WITHOUT_FIRST,
    SUM_OF_EVEN, /* a tree of sums without its last step */
    SUM_FROM_ONE,
    SUM_TO_N, /* over the first N columns */
    SUM_OF_X,
    SUM_SO_FAR,
    LOGARITHM,
    DIVIDED_BY_MAXIMUM,
    DIVIDED_TWICE,          /* by the sum and by C */
    MERGED_WITHOUT_RESCALE, /* the lanes' own sums are right: + 0, 1, 2: of 32, 128, 256 lanes */
    MERGED_ONE_SIDE = 96,   /* only the second part of two is rescaled; + 1: only the first */
    MAX_STARTS_LOW = 98,    /* at -1e30 */
};

static float row_maximum(const float *x, int C) {
    float maximum = -INFINITY;
    for (int c = 0; c < C; c++) { maximum = x[c] > maximum ? x[c] : maximum; }
    return maximum;
}

/* exp(x - shift) / their sum, in float, to overflow and underflow as a kernel does. */
static void with_shift(const float *x, int C, float shift, double *out) {
    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += expf(x[c] - shift); }
    for (int c = 0; c < C; c++) { out[c] = expf(x[c] - shift) / sum; }
}

/* Each lane has every `lanes`-th column and a running maximum, and does not rescale its sum when the maximum grows. The
 * lanes' sums are added without rescaling, or rescaled to the row's maximum. */
static double unscaled_sum(const float *x, int C, int lanes, bool merged, double maximum_of_row) {
    double sum = 0.0;
    for (int lane = 0; lane < lanes && lane < C; lane++) {
        double maximum = -INFINITY, own = 0.0;
        for (int c = lane; c < C; c += lanes) {
            if (x[c] > maximum) { maximum = x[c]; }
            if (isfinite(x[c])) { own += exp(x[c] - maximum); }
        }
        if (own > 0.0) { sum += merged ? own * exp(maximum - maximum_of_row) : own; }
    }
    return sum;
}

/* The same for running sums that are rescaled: only merging the lanes' sums is wrong. */
static double merged_sum(const float *x, int C, int lanes) {
    double sum = 0.0;
    for (int lane = 0; lane < lanes && lane < C; lane++) {
        double maximum = -INFINITY;
        for (int c = lane; c < C; c += lanes) { maximum = fmax(maximum, x[c]); }
        for (int c = lane; c < C; c += lanes) { sum += maximum == -INFINITY ? 0.0 : exp(x[c] - maximum); }
    }
    return sum;
}

/* A part of a row in online softmax, and two parts merged with only one of the sums rescaled. */
struct part {
    double largest, sum;
};

static struct part merge_one_side(struct part a, struct part b, bool first) {
    double largest = fmax(a.largest, b.largest);
    double sum_a = first ? a.sum * exp(a.largest - largest) : a.sum;
    double sum_b = first ? b.sum : b.sum * exp(b.largest - largest);
    return (struct part){largest, sum_a + sum_b};
}

/* Each lane has every 32nd column; then the lanes merge with those 16, 8, 4, 2 and 1 apart. */
static void merged_one_side(const float *x, int C, bool first, double *out) {
    struct part part[WARP], before[WARP];
    for (int lane = 0; lane < WARP; lane++) {
        part[lane] = (struct part){-FLT_MAX, 0.0};
        for (int c = lane; c < C; c += WARP) {
            part[lane] = merge_one_side(part[lane], (struct part){x[c], 1.0}, first);
        }
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        memcpy(before, part, sizeof before);
        for (int lane = 0; lane < WARP; lane++) {
            part[lane] = merge_one_side(before[lane], before[lane ^ offset], first);
        }
    }
    for (int c = 0; c < C; c++) { out[c] = exp(x[c] - part[c % WARP].largest) / part[c % WARP].sum; }
}

void softmax_by_lanes(int variant, const float *x, int C, double scale, double *out) {
    enum lane_mistake mistake = lanes_mistake(variant);
    double maximum[WARP], sum[WARP];
    for (int lane = 0; lane < WARP; lane++) { maximum[lane] = -INFINITY, sum[lane] = 0.0; }
    for (int c = 0; c < C; c++) {
        double *own = &maximum[lanes_of(variant, c)];
        *own = fmax(*own, scale * x[c]);
    }
    lanes_reduce(lanes_has(variant, LANE_FIRST) ? mistake : 0, true, maximum);
    for (int c = 0; c < C; c++) {
        int lane = lanes_of(variant, c);
        sum[lane] += exp(scale * x[c] - maximum[lane]);
    }
    lanes_reduce(lanes_has(variant, LANE_SECOND) ? mistake : 0, false, sum);
    for (int c = 0; c < C; c++) {
        int lane = lanes_of(variant, c);
        out[c] = exp(scale * x[c] - maximum[lane]) / sum[lane];
    }
}

/* Sums over the columns that each warp of a block of `block` threads takes. */
static void warp_sums(const float *x, int C, int block, double maximum, double sums[WARP]) {
    for (int warp = 0; warp < WARP; warp++) { sums[warp] = 0.0; }
    for (int c = 0; c < C; c++) { sums[c % block / WARP] += exp(x[c] - maximum); }
}

/* The sum that a mistake in its loop gives. */
static double mistaken_sum(int variant, const float *x, int C, int N, double maximum) {
    int first = variant == SUM_WITHOUT_FIRST, step = variant == SUM_OF_EVEN ? 2 : 1;
    int end = variant == SUM_WITHOUT_LAST ? C - 1 : variant == SUM_TO_N && N < C ? N : C;
    double sum = variant == SUM_FROM_ONE ? 1.0 : 0.0;
    for (int c = first; c < end; c += step) {
        double shifted = x[c] - maximum;
        sum += variant == SUM_OF_X ? shifted : exp(variant == SUM_UNSHIFTED ? x[c] : shifted);
    }
    switch (variant) {
        case DIVIDED_BY_MAXIMUM: return maximum;
        case DIVIDED_TWICE: return sum * C;
        case MERGED_WITHOUT_RESCALE: return merged_sum(x, C, WARP);
        case MERGED_WITHOUT_RESCALE + 1: return merged_sum(x, C, 4 * WARP);
        case MERGED_WITHOUT_RESCALE + 2: return merged_sum(x, C, 8 * WARP);
        default: return sum;
    }
}

/* Mistakes of the last pass, or of the sum by which it divides. */
static void divided_row(int variant, const float *x, int C, int N, double *out) {
    double maximum = row_maximum(x, C), sum = mistaken_sum(variant, x, C, N, maximum), so_far = 0.0;
    for (int c = 0; c < C; c++) {
        double term = exp(variant == LAST_UNSHIFTED ? x[c] : x[c] - maximum);
        so_far += term;
        out[c] = variant == LOGARITHM ? x[c] - maximum - log(sum) : term / (variant == SUM_SO_FAR ? so_far : sum);
    }
}

static float other_maximum(int variant, const float *x, int C) {
    float minimum = INFINITY;
    for (int c = 0; c < C; c++) { minimum = fminf(minimum, x[c]); }
    return variant == MAX_IS_LAST ? x[C - 1] : variant == MAX_IS_MINIMUM ? minimum : row_maximum(x, C - 1);
}

static void mistaken_row(int variant, const float *x, int C, double *carried, double *out) {
    double maximum = row_maximum(x, C), sum = 0.0, scale = variant == BASE_2 ? log(2.0) : 1.0;
    if (variant == SIGN) { scale = -1.0; }
    for (int c = 0; c < C; c++) { sum += exp(scale * (x[c] - maximum)); }
    if (variant == SUM_NOT_RESET) { sum = *carried += sum; }
    if (variant == NOT_NORMALISED) { sum = 1.0; }
    if (variant == DIVIDED_BY_C) { sum = C; }
    if (variant == PADDING_WARP) { sum += ((C + WARP - 1) / WARP * WARP - C) * exp(-maximum); }
    bool merged = variant >= NO_RESCALE_IN_LANE;
    if (variant >= NO_RESCALE && variant < FIRST_WARP) {
        int lanes = 1 << (variant - (merged ? NO_RESCALE_IN_LANE : NO_RESCALE));
        sum = unscaled_sum(x, C, lanes, merged, maximum);
    }
    double sums[WARP];
    bool own = variant >= OWN_WARP, first = !own && variant >= FIRST_WARP;
    int block = own ? 1 << (variant - OWN_WARP) : first ? 1 << (variant - FIRST_WARP) : WARP;
    if (own || first) { warp_sums(x, C, block, maximum, sums); }
    for (int c = 0; c < C; c++) {
        double divisor = own ? sums[c % block / WARP] : first ? sums[0] : sum;
        out[c] = exp(scale * (x[c] - maximum)) / divisor;
    }
}

/* Softmax over vectors of `length` elements with stride `stride`; the vectors start `step` elements apart. */
static void along_lines(size_t lines, size_t step, size_t length, size_t stride, const float *x, double *out) {
    for (size_t line = 0; line < lines; line++, x += step, out += step) {
        double maximum = -INFINITY, sum = 0.0;
        for (size_t i = 0; i < length; i++) { maximum = fmax(maximum, x[i * stride]); }
        for (size_t i = 0; i < length; i++) { sum += exp(x[i * stride] - maximum); }
        for (size_t i = 0; i < length; i++) { out[i * stride] = exp(x[i * stride] - maximum) / sum; }
    }
}

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out"), carried = 0.0;
    int N = call->sizes->N, C = call->sizes->C;
    if (variant == WRONG_AXIS) { along_lines((size_t)C, 1, (size_t)N, (size_t)C, x, out); }
    if (variant == TRANSPOSED) { along_lines((size_t)N, 1, (size_t)C, (size_t)N, x, out); }
    if (variant == WHOLE_TENSOR) { mistaken_row(variant, x, N * C, &carried, out); }
    if (variant == WRONG_AXIS || variant == TRANSPOSED || variant == WHOLE_TENSOR) { return; }
    for (int n = 0; n < N; n++, x += C, out += C) {
        float maximum = row_maximum(x, C);
        if (variant >= LANES) {
            softmax_by_lanes(variant, x, C, 1.0, out);
            continue;
        }
        if (variant >= LAST_UNSHIFTED && variant < MERGED_ONE_SIDE) {
            divided_row(variant, x, C, N, out);
            continue;
        }
        switch (variant) {
            case MERGED_ONE_SIDE: merged_one_side(x, C, false, out); break;
            case MERGED_ONE_SIDE + 1: merged_one_side(x, C, true, out); break;
            case MAX_STARTS_LOW: with_shift(x, C, fmaxf(maximum, -1e30f), out); break;
            case MAX_IS_LAST:
            case MAX_IS_MINIMUM:
            case MAX_WITHOUT_LAST: with_shift(x, C, other_maximum(variant, x, C), out); break;
            case NO_MAX: with_shift(x, C, 0.0f, out); break;
            case MAX_STARTS_AT_ZERO: with_shift(x, C, fmaxf(maximum, 0.0f), out); break;
            case MAX_STARTS_AT_FLT_MIN: with_shift(x, C, fmaxf(maximum, FLT_MIN), out); break;
            default: mistaken_row(variant, x, C, &carried, out); break;
        }
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "softmax-max-starts-at-zero",
     .cause =
         "the maximum is never below 0: start it at -INFINITY, and let threads without a column contribute -INFINITY",
     .hint = 3,
     .kernel = "softmax_forward/max_from_zero",
     .compute = mistaken,
     .variant = {MAX_STARTS_AT_ZERO, MAX_STARTS_AT_FLT_MIN}},
    {.id = "softmax-max-starts-too-high",
     .cause = "the maximum starts at a number that a whole row may be below: start it at -INFINITY",
     .hint = 3,
     .kernel = "softmax_forward/max_from_minus_1e30",
     .compute = mistaken,
     .variant = {MAX_STARTS_LOW}},
    {.id = "softmax-no-max",
     .cause = "the row's maximum is not subtracted, so exp overflows for large inputs",
     .hint = 1,
     .kernel = "softmax_forward/no_max",
     .compute = mistaken,
     .variant = {NO_MAX}},
    {.id = "softmax-max-is-last",
     .cause = "the last element is subtracted instead of the maximum: keep the larger one, fmaxf(largest, x)",
     .hint = 3,
     .kernel = "softmax_forward/max_is_last",
     .compute = mistaken,
     .variant = {MAX_IS_LAST}},
    {.id = "softmax-minimum",
     .cause = "the minimum is subtracted instead of the maximum, so exp overflows for large inputs",
     .hint = 3,
     .kernel = "softmax_forward/minimum",
     .compute = mistaken,
     .variant = {MAX_IS_MINIMUM}},
    {.id = "softmax-max-bounds",
     .cause = "the maximum leaves out the last column: loop while c < C",
     .hint = 3,
     .kernel = "softmax_forward/max_without_last",
     .compute = mistaken,
     .variant = {MAX_WITHOUT_LAST}},
    {.id = "softmax-not-normalised",
     .cause = "out holds exp(x - maximum): divide it by the row's sum, a float",
     .hint = 2,
     .kernel = "softmax_forward/sum_is_an_int",
     .compute = mistaken,
     .variant = {NOT_NORMALISED}},
    {.id = "softmax-divided-by-c",
     .cause = "the exponentials are divided by C: divide them by their sum",
     .hint = 2,
     .kernel = "softmax_forward/divided_by_c",
     .compute = mistaken,
     .variant = {DIVIDED_BY_C}},
    {.id = "softmax-two-shifts",
     .cause = "the maximum is subtracted in one of the last two passes only: both need exp(x - maximum)",
     .hint = 3,
     .kernel = "softmax_forward/last_pass_not_shifted",
     .compute = mistaken,
     .variant = {LAST_UNSHIFTED, SUM_UNSHIFTED}},
    {.id = "sum-bounds", .compute = mistaken, .variant = {SUM_WITHOUT_LAST, SUM_WITHOUT_FIRST}},
    {.id = "softmax-sum-of-n-columns",
     .cause = "the sum ends at column N: a row has C columns",
     .hint = 3,
     .kernel = "softmax_forward/sum_to_n",
     .compute = mistaken,
     .variant = {SUM_TO_N}},
    {.id = "softmax-sum-from-one",
     .cause = "the sum starts at 1: start it at 0",
     .hint = 3,
     .kernel = "softmax_forward/sum_from_one",
     .compute = mistaken,
     .variant = {SUM_FROM_ONE}},
    {.id = "softmax-sum-of-x",
     .cause = "the divisor is the sum of x - maximum: sum the exponentials",
     .hint = 3,
     .kernel = "softmax_forward/sum_of_x",
     .compute = mistaken,
     .variant = {SUM_OF_X}},
    {.id = "softmax-sum-so-far",
     .cause = "each element is divided by the sum up to it: complete the sum before the pass that divides",
     .hint = 2,
     .kernel = "softmax_forward/sum_so_far",
     .compute = mistaken,
     .variant = {SUM_SO_FAR}},
    {.id = "softmax-logarithm",
     .cause = "out is the logarithm of softmax: it is exp(x - maximum) / sum",
     .hint = 2,
     .kernel = "softmax_forward/logarithm",
     .compute = mistaken,
     .variant = {LOGARITHM}},
    {.id = "softmax-divided-by-maximum",
     .cause = "the exponentials are divided by the maximum: divide them by their sum",
     .hint = 3,
     .kernel = "softmax_forward/divided_by_maximum",
     .compute = mistaken,
     .variant = {DIVIDED_BY_MAXIMUM}},
    {.id = "softmax-divided-twice",
     .cause = "the exponentials are divided by their sum and by C: divide them by the sum alone",
     .hint = 3,
     .kernel = "softmax_forward/divided_twice",
     .compute = mistaken,
     .variant = {DIVIDED_TWICE}},
    {.id = "tree-step-missing", .compute = mistaken, .variant = {SUM_OF_EVEN}},
    {.id = "softmax-sum-not-reset",
     .cause = "the sum continues from the previous row: set it to 0 at the start of every row",
     .hint = 3,
     .kernel = "softmax_forward/sum_not_reset",
     .compute = mistaken,
     .variant = {SUM_NOT_RESET}},
    {.id = "softmax-base-2",
     .cause = "exp2f is used instead of expf: exp(x) is exp2(x * log2(e))",
     .hint = 3,
     .kernel = "softmax_forward/base_2",
     .compute = mistaken,
     .variant = {BASE_2}},
    {.id = "softmax-sign",
     .cause = "the exponent has the wrong sign: use exp(x - maximum)",
     .hint = 3,
     .kernel = "softmax_forward/sign",
     .compute = mistaken,
     .variant = {SIGN}},
    {.id = "transposed-index", .compute = mistaken, .variant = {TRANSPOSED}},
    {.id = "softmax-wrong-axis",
     .cause = "the softmax is computed along the columns: compute it over the C elements of each row",
     .hint = 1,
     .kernel = "softmax_forward/wrong_axis",
     .compute = mistaken,
     .variant = {WRONG_AXIS}},
    {.id = "softmax-whole-tensor",
     .cause = "the maximum or the sum is taken over the whole tensor instead of each row",
     .hint = 1,
     .kernel = "softmax_forward/whole_tensor",
     .compute = mistaken,
     .variant = {WHOLE_TENSOR}},
    {.id = "softmax-padding-counted",
     .cause = "lanes past the last column add exp(0 - max): their value must be -INFINITY and their term 0",
     .hint = 3,
     .kernel = "softmax_forward/padding_counted",
     .compute = mistaken,
     .variant = {PADDING_WARP}},
    {.id = "softmax-no-rescale",
     .cause = "the sum is not rescaled when the running maximum grows: multiply it by exp(old - new)",
     .hint = 1,
     .kernel = "softmax_forward/no_rescale",
     .compute = mistaken,
     .variant = {NO_RESCALE, NO_RESCALE + 5, NO_RESCALE + 7, NO_RESCALE + 8, NO_RESCALE_IN_LANE + 5,
                 NO_RESCALE_IN_LANE + 7, NO_RESCALE_IN_LANE + 8}},
    {.id = "softmax-merge-without-rescale",
     .cause = "sums of two parts are added as they are: rescale each by exp(its maximum - common maximum) first",
     .hint = 2,
     .kernel = "softmax_forward/merge_without_rescale",
     .compute = mistaken,
     .variant = {DIVIDED_BY_C, MERGED_WITHOUT_RESCALE, MERGED_WITHOUT_RESCALE + 1, MERGED_WITHOUT_RESCALE + 2,
                 MERGED_ONE_SIDE, MERGED_ONE_SIDE + 1}},
    {.id = "softmax-row-counted-twice",
     .fact = "all results are twice or half the right ones: is a part of each row's sum counted twice, or missing?",
     .hint = 2,
     .kernel = "softmax_forward/warp_counted_twice",
     .predicate = shows_halved_or_doubled},
    {.id = "other-warps-lost",
     .compute = mistaken,
     .variant = {FIRST_WARP + 6, FIRST_WARP + 7, FIRST_WARP + 8, FIRST_WARP + 9, FIRST_WARP + 10, OWN_WARP + 6,
                 OWN_WARP + 7, OWN_WARP + 8, OWN_WARP + 9, OWN_WARP + 10}},
    LANES_MISTAKES(mistaken),
    {.id = NULL},
};

const struct op_reference op_reference_softmax_forward = {
    .compute = compute,
    .invariant = rows_sum_to_one,
    .mistakes = {mistakes, softmax_mistakes_shown},
};

/* Arithmetic, comparisons and functions of half precision and bfloat16, rounded once, on samples near the ties. */
#include "minifloat_oracle.h"

TestSuite(minifloat_arithmetic, .init = quiet, .timeout = 120);

static double clamped(double x) {
    return !(x > 0) ? 0 : x > 1 ? 1 : x;
}

/* a + b in quad, and its rounding error. */
static quad sum_of(quad a, quad b, double *lost) {
    quad sum = a + b, b_part = sum - a;
    *lost = sum + sum == sum ? 0 : (double)((a - (sum - b_part)) + (b - b_part));
    return sum;
}

static uint16_t smaller(const struct format *f, uint16_t a, uint16_t b, bool larger) {
    if (is_nan(f, a) || is_nan(f, b)) return is_nan(f, a) ? is_nan(f, b) ? 0x7fff : b : a;
    double x = widened(f, a), y = widened(f, b);
    if (x == y) return larger == !(a & 0x8000) ? a : b; /* -0 < +0 */
    return (x < y) != larger ? a : b;
}

/* Exact arithmetic, rounded once. */
static uint16_t arithmetic(const struct format *f, int which, uint16_t a, uint16_t b, uint16_t c) {
    quad x = widened(f, a), y = widened(f, b), z = widened(f, c);
    double lost = 0;
    bool sign = (a ^ b) & 0x8000; /* of a zero product */
    switch (which) {
        case MINI_add:
        case MINI_add2:
        case MINI_operator_add: x = sum_of(x, y, &lost); return rounded(f, x, lost, ROUND_NEAREST, (a & b) & 0x8000);
        case MINI_sub:
        case MINI_sub2:
        case MINI_operator_sub: x = sum_of(x, -y, &lost); return rounded(f, x, lost, ROUND_NEAREST, (a & ~b) & 0x8000);
        case MINI_increment: x = sum_of(x, 1, &lost); return rounded(f, x, lost, ROUND_NEAREST, false);
        case MINI_mul:
        case MINI_mul2:
        case MINI_operator_mul: return rounded(f, x * y, 0, ROUND_NEAREST, sign);
        case MINI_div:
        case MINI_div2:
        case MINI_operator_div: return rounded(f, x / y, 0, ROUND_NEAREST, sign);
        default: /* fma */
            y = x * y;
            x = sum_of(y, z, &lost);
            return rounded(f, x, lost, ROUND_NEAREST, y == 0 ? sign && (c & 0x8000) : false);
    }
}

static double function(int which, double x) {
    switch (which) {
        case MINI_sqrt: return sqrt(x);
        case MINI_rsqrt: return (double)(1 / sqrtl(x));
        case MINI_rcp: return 1 / x;
        case MINI_exp: return exp(x);
        case MINI_exp2: return exp2(x);
        case MINI_exp10: return pow(10, x);
        case MINI_log: return log(x);
        case MINI_log2: return log2(x);
        case MINI_log10: return log10(x);
        case MINI_sin: return sin(x);
        case MINI_cos: return cos(x);
        case MINI_tanh: return tanh(x);
        case MINI_ceil: return ceil(x);
        case MINI_floor: return floor(x);
        case MINI_trunc: return trunc(x);
        default: return nearbyint(x);
    }
}

static uint16_t defined(const struct format *f, int which, uint16_t a, uint16_t b, uint16_t c) {
    double x = widened(f, a), y = widened(f, b);
    uint16_t one = nearest(f, 1);
    switch (which) {
        case MINI_neg: return a ^ 0x8000;
        case MINI_abs: return a & 0x7fff;
        case MINI_min:
        case MINI_min2: return smaller(f, a, b, false);
        case MINI_max:
        case MINI_max2: return smaller(f, a, b, true);
        case MINI_min_nan: return isnan(x) || isnan(y) ? 0x7fff : smaller(f, a, b, false);
        case MINI_max_nan: return isnan(x) || isnan(y) ? 0x7fff : smaller(f, a, b, true);
        case MINI_add_sat: return nearest(f, clamped(widened(f, arithmetic(f, MINI_add, a, b, c))));
        case MINI_sub_sat: return nearest(f, clamped(widened(f, arithmetic(f, MINI_sub, a, b, c))));
        case MINI_mul_sat: return nearest(f, clamped(widened(f, arithmetic(f, MINI_mul, a, b, c))));
        case MINI_fma_sat: return nearest(f, clamped(widened(f, arithmetic(f, MINI_fma, a, b, c))));
        case MINI_fma_relu: {
            uint16_t r = arithmetic(f, MINI_fma, a, b, c);
            return is_nan(f, r) ? 0x7fff : r & 0x8000 ? 0 : r;
        }
        case MINI_eq:
        case MINI_is_equal: return x == y;
        case MINI_ne: return x < y || x > y;
        case MINI_lt:
        case MINI_is_less: return x < y;
        case MINI_le: return x <= y;
        case MINI_gt: return x > y;
        case MINI_ge: return x >= y;
        case MINI_equ: return !(x < y || x > y);
        case MINI_neu: return !(x == y);
        case MINI_ltu: return !(x >= y);
        case MINI_leu: return !(x > y);
        case MINI_gtu: return !(x <= y);
        case MINI_geu: return !(x < y);
        case MINI_eq2: return x == y ? one : 0;
        case MINI_lt2_mask: return x < y ? 0xffff : 0;
        case MINI_bge2: return x >= y;
        case MINI_isnan: return isnan(x);
        case MINI_isinf: return (uint16_t)(isinf(x) ? x > 0 ? 1 : -1 : 0);
        default: return which >= MINI_sqrt ? nearest(f, function(which, x)) : arithmetic(f, which, a, b, c);
    }
}

Test(minifloat_arithmetic, operations_are_exact_and_rounded_once) {
    static const char *const names[] = {
#define MINI_OPERATION(name) #name,
        MINI_OPERATIONS(MINI_OPERATION)
#undef MINI_OPERATION
    };
    static uint16_t a[SAMPLES], b[SAMPLES], c[SAMPLES], out[SAMPLES];
    EACH_FORMAT(which, f) {
        for (int i = 0; i < SAMPLES; i++) {
            a[i] = (uint16_t)next_random();
            b[i] = i % 4 == 0 ? (uint16_t)(a[i] ^ (next_random() & 0x83ff)) : (uint16_t)next_random();
            double product = widened(f, a[i]) * widened(f, b[i]);
            c[i] = (uint16_t)next_random();
            if (i % 2 && isfinite(product)) c[i] = (uint16_t)(nearest(f, -product) + (next_random() & 7) - 3);
            if (i < 64) {
                static const uint16_t edges[] = {0, 0x8000, 1, 0x8001};
                uint16_t more[] = {(uint16_t)f->infinity, (uint16_t)(f->infinity | 0x8000), 0x7fff,
                                   (uint16_t)(f->infinity - 1)};
                a[i] = i % 8 < 4 ? edges[i % 4] : more[i % 4];
                b[i] = i / 8 < 4 ? edges[i / 8 % 4] : more[i / 8 % 4];
            }
        }
        for (int operation = 0; operation < MINI_OPERATION_COUNT; operation++) {
            cr_assert_eq(run_operation(which, operation, out, a, b, c, SAMPLES), 0);
            for (int i = 0; i < SAMPLES; i++) {
                uint16_t expected = defined(f, operation, a[i], b[i], c[i]);
                bool same =
                    out[i] == expected || (is_nan(f, expected) && is_nan(f, out[i]) && operation != MINI_lt2_mask);
                cr_assert(same, "%s %s(%#x, %#x, %#x) is %#x, not %#x", f->name, names[operation], a[i], b[i], c[i],
                          out[i], expected);
            }
        }
    }
    expect_none();
}

static void expect_atomic_sums(int which, const struct format *f, const uint16_t *a, const uint16_t *b) {
    static uint16_t sums[ALL];
    for (int pairs = 0; pairs < 2; pairs++) {
        cr_assert_eq(run_accumulate(which, pairs, sums, a, b, ALL), 0);
        for (int i = 0; i < ALL; i++) {
            uint16_t expected = arithmetic(f, MINI_add, a[i], b[i], 0);
            cr_assert(sums[i] == expected || (is_nan(f, expected) && is_nan(f, sums[i])),
                      "%s atomicAdd%s: %#x + %#x is %#x, not %#x", f->name, pairs ? " of two" : "", a[i], b[i], sums[i],
                      expected);
        }
    }
    expect_none();
}

/* Every number a, NaN and infinity too, plus: -a; the neighbours of -a, so that the sum is tiny or a denormal; a itself,
 * which overflows in the upper half; an arbitrary number. */
Test(minifloat_arithmetic, atomic_sums_are_rounded_once) {
    static uint16_t a[ALL], b[ALL];
    EACH_FORMAT(which, f) {
        for (int i = 0; i < ALL; i++) a[i] = (uint16_t)i;
        for (int i = 0; i < ALL; i++) b[i] = (uint16_t)(i ^ 0x8000);
        expect_atomic_sums(which, f, a, b);
        for (int i = 0; i < ALL; i++) b[i] = (uint16_t)((i ^ 0x8000) + (i & 2 ? 1 : -1));
        expect_atomic_sums(which, f, a, b);
        for (int i = 0; i < ALL; i++) b[i] = (uint16_t)i;
        expect_atomic_sums(which, f, a, b);
        for (int i = 0; i < ALL; i++) b[i] = (uint16_t)next_random();
        expect_atomic_sums(which, f, a, b);
    }
}

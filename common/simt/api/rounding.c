/* rounding.c — one arithmetic operation or conversion, rounded as asked: the machine's own, with its rounding mode set.
 *
 * The volatile copies keep the compiler from computing or moving an operation across the change of mode.
 */
#include <fenv.h>
#include <math.h>

#include "../include/simt/rounding.h"

static int machine_mode(int rounding) {
    switch (rounding) {
        case SIMT_ROUND_ZERO: return FE_TOWARDZERO;
        case SIMT_ROUND_UP: return FE_UPWARD;
        case SIMT_ROUND_DOWN: return FE_DOWNWARD;
        default: return FE_TONEAREST;
    }
}

/* `result = expression` under the mode. */
#define ROUNDED(rounding, result, expression) \
    do {                                      \
        int before = fegetround();            \
        fesetround(machine_mode(rounding));   \
        (result) = (expression);              \
        fesetround(before);                   \
    } while (0)

/* 1 / sqrt(x), rounded once: the double result decides, except when it lies too near a tie of two floats. */
static float reciprocal_root(float x) {
    double root = 1.0 / sqrt((double)x);
    float nearest = (float)root;
    if (!(root > 0) || isinf(root)) { return nearest; }
    /* A tie t has t * t * x == 1, but t has 25 significant bits and x 24: t * t * x is never exactly 1 unless all are
     * powers of two, and then t is a float. The residual, exact in two steps of fma, tells the side. */
    float other = root > (double)nearest ? nextafterf(nearest, INFINITY) : nextafterf(nearest, 0);
    double tie = ((double)nearest + (double)other) / 2;
    if (fabs(root - tie) > root * 0x1p-50) { return nearest; }
    double square = tie * tie; /* 50 bits: exact */
    double residual = fma(square, (double)x, -1.0);
    bool below_tie = residual > 0; /* tie > 1 / sqrt(x) */
    float low = nearest < other ? nearest : other, high = nearest < other ? other : nearest;
    return below_tie ? low : high;
}

float simt_float_operation(int operation, int rounding, float a, float b, float c) {
    volatile float x = a, y = b, z = c, result = 0;
    switch (operation) {
        case SIMT_OP_ADD: ROUNDED(rounding, result, x + y); break;
        case SIMT_OP_SUB: ROUNDED(rounding, result, x - y); break;
        case SIMT_OP_MUL: ROUNDED(rounding, result, x * y); break;
        case SIMT_OP_DIV: ROUNDED(rounding, result, x / y); break;
        case SIMT_OP_FMA: ROUNDED(rounding, result, fmaf(x, y, z)); break;
        case SIMT_OP_SQRT: ROUNDED(rounding, result, sqrtf(x)); break;
        case SIMT_OP_RSQRT: return reciprocal_root(a);
    }
    return result;
}

double simt_double_operation(int operation, int rounding, double a, double b, double c) {
    volatile double x = a, y = b, z = c, result = 0;
    switch (operation) {
        case SIMT_OP_ADD: ROUNDED(rounding, result, x + y); break;
        case SIMT_OP_SUB: ROUNDED(rounding, result, x - y); break;
        case SIMT_OP_MUL: ROUNDED(rounding, result, x * y); break;
        case SIMT_OP_DIV: ROUNDED(rounding, result, x / y); break;
        case SIMT_OP_FMA: ROUNDED(rounding, result, fma(x, y, z)); break;
        case SIMT_OP_SQRT: ROUNDED(rounding, result, sqrt(x)); break;
    }
    return result;
}

float simt_float_of_double(double x, int rounding) {
    volatile double from = x;
    volatile float result;
    ROUNDED(rounding, result, (float)from);
    return result;
}

float simt_float_of_i64(long long x, int rounding) {
    volatile long long from = x;
    volatile float result;
    ROUNDED(rounding, result, (float)from);
    return result;
}

float simt_float_of_u64(unsigned long long x, int rounding) {
    if (x >> 63 == 0) { return simt_float_of_i64((long long)x, rounding); }
    /* Halved with the lost bit kept as a sticky one: 63 bits are far more than a float has. */
    return 2 * simt_float_of_i64((long long)(x >> 1 | (x & 1)), rounding);
}

double simt_double_of_i64(long long x, int rounding) {
    volatile long long from = x;
    volatile double result;
    ROUNDED(rounding, result, (double)from);
    return result;
}

double simt_double_of_u64(unsigned long long x, int rounding) {
    if (x >> 63 == 0) { return simt_double_of_i64((long long)x, rounding); }
    return 2 * simt_double_of_i64((long long)(x >> 1 | (x & 1)), rounding);
}

/* math.c — device functions on float and double that the C library lacks: special functions, the fast intrinsics, and
 * operations and conversions with a rounding mode.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "../include/simt/rounding.h"
#include "../include/simt/special.h"

/* ---- special functions, computed in long double and rounded to double ---- */

#define ROOT_PI 1.77245385090551602729816748334114518L
#define ROOT_2  1.41421356237309504880168872420969808L
#define PI      3.14159265358979323846264338327950288L

/* sin and cos of pi * x; the quarter turn is taken off exactly. */
double simt_sinpi(double x) {
    if (!isfinite(x)) { return NAN; }
    double r = remainder(x, 2.0); /* in [-1, 1] */
    if (r == 0 || fabs(r) == 1) { return copysign(0.0, x); }
    double a = fabs(r);
    if (a > 0.5) { a = 1 - a; }
    long double s = a <= 0.25 ? sinl(PI * a) : cosl(PI * (0.5L - a));
    return (double)copysignl(s, r);
}

double simt_cospi(double x) {
    if (!isfinite(x)) { return NAN; }
    double a = fabs(remainder(x, 2.0));
    if (a == 0.5) { return 0.0; }
    double sign = a > 0.5 ? -1 : 1;
    if (a > 0.5) { a = 1 - a; }
    return (double)(sign * (a <= 0.25 ? cosl(PI * a) : sinl(PI * (0.5L - a))));
}

/* exp(x * x) * erfc(x) */
double simt_erfcx(double x) {
    long double y = x;
    if (x < 50) { return (double)(expl(y * y) * erfcl(y)); }
    /* The asymptotic series; at 50 its fifth term is below 1e-16. */
    long double t = 1 / (2 * y * y);
    return (double)((1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t)))) / (y * ROOT_PI));
}

/* y with erfc(y) = x, for x in (0, 1]: Winitzki's approximation, then Halley's steps. */
static long double upper_inverse(long double x) {
    long double l = logl(x * (2 - x)), a = 0.147L, h = 2 / (PI * a) + l / 2;
    long double y = sqrtl(sqrtl(h * h - l / a) - h);
    for (int i = 0; i < 8; i++) {
        long double u = (erfcl(y) - x) / (-2 / ROOT_PI * expl(-y * y));
        long double step = u / (1 + y * u);
        y -= step;
        if (fabsl(step) <= fabsl(y) * LDBL_EPSILON) { break; }
    }
    return y;
}

double simt_erfcinv(double x) {
    if (!(x >= 0 && x <= 2)) { return NAN; }
    if (x == 0 || x == 2) { return x == 0 ? INFINITY : -INFINITY; }
    if (x == 1) { return 0.0; }
    return (double)(x <= 1 ? upper_inverse(x) : -upper_inverse(2.0L - x));
}

double simt_erfinv(double x) {
    if (!(fabs(x) <= 1)) { return NAN; }
    if (fabs(x) == 1) { return copysign(INFINITY, x); }
    if (fabs(x) > 0.5) { return copysign((double)upper_inverse(1 - fabsl((long double)x)), x); }
    /* Near 0, erf is more accurate than erfc. */
    long double y = x * ROOT_PI / 2;
    for (int i = 0; i < 8; i++) {
        long double u = (erfl(y) - x) / (2 / ROOT_PI * expl(-y * y));
        y -= u / (1 + y * u);
    }
    return (double)y;
}

double simt_normcdf(double x) {
    return (double)(0.5L * erfcl(-x / ROOT_2));
}

double simt_normcdfinv(double x) {
    if (!(x >= 0 && x <= 1)) { return NAN; }
    if (x == 0 || x == 1) { return x == 0 ? -INFINITY : INFINITY; }
    long double twice = 2.0L * x;
    if (twice == 1) { return 0.0; }
    return (double)(ROOT_2 * (twice < 1 ? -upper_inverse(twice) : upper_inverse(2 - twice)));
}

/* The power series of I0 and I1: all terms are positive, so it loses nothing at any size. */
static double bessel_series(double x, int order) {
    if (isnan(x)) { return x; }
    if (fabs(x) > 720) { return order == 1 ? copysign(INFINITY, x) : INFINITY; }
    long double quarter = (long double)x * x / 4, term = order == 1 ? x / 2.0L : 1, sum = term;
    for (int k = 1; k < 2000; k++) {
        term *= quarter / ((long double)k * (k + order));
        sum += term;
        if (fabsl(term) <= fabsl(sum) * LDBL_EPSILON / 4) { break; }
    }
    return (double)sum;
}

double simt_bessel_i0(double x) {
    return bessel_series(x, 0);
}

double simt_bessel_i1(double x) {
    return bessel_series(x, 1);
}

double simt_rsqrt(double x) {
    return (double)(1 / sqrtl(x));
}

double simt_rcbrt(double x) {
    return (double)(1 / cbrtl(x));
}

/* ---- fast intrinsics ---- */

/* __expf and its family, under the names that the C library's header declares. The results are those of the C library,
 * correctly rounded or nearly so: closer than CUDA documents. */

float __expf(float x) {
    return expf(x);
}
float __exp10f(float x) {
    return exp10f(x);
}
float __logf(float x) {
    return logf(x);
}
float __log2f(float x) {
    return log2f(x);
}
float __log10f(float x) {
    return log10f(x);
}
float __sinf(float x) {
    return sinf(x);
}
float __cosf(float x) {
    return cosf(x);
}
float __tanf(float x) {
    return tanf(x);
}
float __tanhf(float x) {
    return tanhf(x);
}
float __powf(float x, float y) {
    return exp2f(y * log2f(x));
}

void __sincosf(float x, float *sine, float *cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}

/* ---- rounding modes ---- */

/* One operation or conversion with a rounding mode: the machine's own, with its mode set. The volatile copies keep the
 * compiler from evaluating or moving the operation across the change of mode. */

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
     * powers of two, and then t is a float. The sign of the residual, exact in two steps of fma, selects the neighbour. */
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

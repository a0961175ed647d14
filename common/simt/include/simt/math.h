/* math.h — CUDA's mathematical functions that the C library lacks, and the fast and rounded intrinsics.
 *
 * sinf, erff and the like are the C library's: closer than CUDA's bounds; expf is inlined (math_inline.h). The fast
 * intrinsics (__logf, …) are at least as close as CUDA documents; where CUDA documents a result outside of that range, it
 * is kept.
 */
#ifndef SIMT_MATH_H
#define SIMT_MATH_H

#include <math.h>

#include "boundary.h"
#include "convert.h"
#include "math_inline.h"
#include "math_library.h"

/* ---- min, max ---- */

#define SIMT_MIN_MAX(A, B, Result)                                                                                \
    SIMT_INLINE Result min(A a, B b) {                                                                            \
        return static_cast<Result>(a) < static_cast<Result>(b) ? static_cast<Result>(a) : static_cast<Result>(b); \
    }                                                                                                             \
    SIMT_INLINE Result max(A a, B b) {                                                                            \
        return static_cast<Result>(a) > static_cast<Result>(b) ? static_cast<Result>(a) : static_cast<Result>(b); \
    }
#define SIMT_MIN_MAX_INTEGER(T)                      \
    SIMT_MIN_MAX(T, T, T)                            \
    SIMT_MIN_MAX(unsigned T, unsigned T, unsigned T) \
    SIMT_MIN_MAX(T, unsigned T, unsigned T)          \
    SIMT_MIN_MAX(unsigned T, T, unsigned T)
SIMT_MIN_MAX_INTEGER(int)
SIMT_MIN_MAX_INTEGER(long)
SIMT_MIN_MAX_INTEGER(long long)
#undef SIMT_MIN_MAX_INTEGER
#undef SIMT_MIN_MAX
SIMT_INLINE float min(float a, float b) {
    return fminf(a, b);
}
SIMT_INLINE float max(float a, float b) {
    return fmaxf(a, b);
}
SIMT_INLINE double min(double a, double b) {
    return fmin(a, b);
}
SIMT_INLINE double max(double a, double b) {
    return fmax(a, b);
}
SIMT_INLINE double min(float a, double b) {
    return fmin(a, b);
}
SIMT_INLINE double max(float a, double b) {
    return fmax(a, b);
}
SIMT_INLINE double min(double a, float b) {
    return fmin(a, b);
}
SIMT_INLINE double max(double a, float b) {
    return fmax(a, b);
}
SIMT_INLINE unsigned umin(unsigned a, unsigned b) {
    return a < b ? a : b;
}
SIMT_INLINE unsigned umax(unsigned a, unsigned b) {
    return a > b ? a : b;
}
SIMT_INLINE long long llmin(long long a, long long b) {
    return a < b ? a : b;
}
SIMT_INLINE long long llmax(long long a, long long b) {
    return a > b ? a : b;
}
SIMT_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) {
    return a < b ? a : b;
}
SIMT_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) {
    return a > b ? a : b;
}

/* ---- functions that the C library lacks; the float forms round the double result ---- */

#if !__GLIBC_PREREQ(2, 42) /* which has them */
SIMT_INLINE float rsqrtf(float x) {
    return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}
SIMT_INLINE double rsqrt(double x) {
    return simt_rsqrt(x);
}
#endif
#if __GLIBC_PREREQ(2, 41) /* which has them too, but up to 2 ulp off where CUDA documents 1 */
#define sinpif simt_sinpif
#define cospif simt_cospif
#define sinpi  simt_half_turns_sine
#define cospi  simt_half_turns_cosine
#endif
SIMT_INLINE float sinpif(float x) {
    return static_cast<float>(simt_sinpi(x));
}
SIMT_INLINE float cospif(float x) {
    return static_cast<float>(simt_cospi(x));
}
SIMT_INLINE double sinpi(double x) {
    return simt_sinpi(x);
}
SIMT_INLINE double cospi(double x) {
    return simt_cospi(x);
}
SIMT_INLINE float rsqrt(float x) {
    return rsqrtf(x);
}
SIMT_INLINE float sinpi(float x) {
    return sinpif(x);
}
SIMT_INLINE float cospi(float x) {
    return cospif(x);
}
SIMT_INLINE void sincospif(float x, float *sine, float *cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}
SIMT_INLINE void sincospi(double x, double *sine, double *cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}
SIMT_INLINE float rcbrtf(float x) {
    return static_cast<float>(1.0 / cbrt(static_cast<double>(x)));
}
SIMT_INLINE double rcbrt(double x) {
    return simt_rcbrt(x);
}
SIMT_INLINE float fdividef(float x, float y) {
    return x / y;
}

#define SIMT_SPECIAL(name, function)                                 \
    SIMT_INLINE float name##f(float x) {                             \
        return static_cast<float>(function(static_cast<double>(x))); \
    }                                                                \
    SIMT_INLINE double name(double x) {                              \
        return function(x);                                          \
    }                                                                \
    SIMT_INLINE float name(float x) {                                \
        return name##f(x);                                           \
    }
SIMT_SPECIAL(erfcx, simt_erfcx)
SIMT_SPECIAL(erfinv, simt_erfinv)
SIMT_SPECIAL(erfcinv, simt_erfcinv)
SIMT_SPECIAL(normcdf, simt_normcdf)
SIMT_SPECIAL(normcdfinv, simt_normcdfinv)
SIMT_SPECIAL(cyl_bessel_i0, simt_bessel_i0)
SIMT_SPECIAL(cyl_bessel_i1, simt_bessel_i1)
#undef SIMT_SPECIAL

/* Lengths of vectors and their reciprocals; an infinite component wins over a NaN, as in hypot. */
SIMT_INLINE double norm3d(double a, double b, double c) {
    return hypot(hypot(a, b), c);
}
SIMT_INLINE double norm4d(double a, double b, double c, double d) {
    return hypot(hypot(a, b), hypot(c, d));
}
SIMT_INLINE double rhypot(double a, double b) {
    return 1.0 / hypot(a, b);
}
SIMT_INLINE double rnorm3d(double a, double b, double c) {
    return 1.0 / norm3d(a, b, c);
}
SIMT_INLINE double rnorm4d(double a, double b, double c, double d) {
    return 1.0 / norm4d(a, b, c, d);
}
SIMT_INLINE float norm3df(float a, float b, float c) {
    return static_cast<float>(norm3d(a, b, c));
}
SIMT_INLINE float norm4df(float a, float b, float c, float d) {
    return static_cast<float>(norm4d(a, b, c, d));
}
SIMT_INLINE float rhypotf(float a, float b) {
    return static_cast<float>(rhypot(a, b));
}
SIMT_INLINE float rnorm3df(float a, float b, float c) {
    return static_cast<float>(rnorm3d(a, b, c));
}
SIMT_INLINE float rnorm4df(float a, float b, float c, float d) {
    return static_cast<float>(rnorm4d(a, b, c, d));
}

/* ---- the fast intrinsics: __expf and its family ---- */

/* The C library's header declares these names already, as functions with C linkage; api/math.c defines them. */
extern "C" {
float __exp10f(float x) noexcept;
float __logf(float x) noexcept;
float __log2f(float x) noexcept;
float __log10f(float x) noexcept;
float __sinf(float x) noexcept;
float __cosf(float x) noexcept;
float __tanf(float x) noexcept;
float __tanhf(float x) noexcept;
float __powf(float x, float y) noexcept; /* exp2f(y * log2f(x)): a negative base gives NaN */
void __sincosf(float x, float *sine, float *cosine) noexcept;
}

/* A divisor from 2^126 to 2^128 gives 0 (NaN for an infinite dividend). */
SIMT_INLINE float __fdividef(float x, float y) {
    float size = fabsf(y);
    return size > 0x1p126f && size <= 0x1.fffffep127f ? x * 0.0f : x / y;
}

SIMT_INLINE float __saturatef(float x) {
    return !(x > 0.0f) ? 0.0f : x > 1.0f ? 1.0f : x;
}

/* ---- one operation with a rounding mode, never contracted: __fadd_rn … __drcp_rd ---- */

#define SIMT_ROUNDINGS(X, ...)          \
    X(rz, SIMT_ROUND_ZERO, __VA_ARGS__) \
    X(ru, SIMT_ROUND_UP, __VA_ARGS__)   \
    X(rd, SIMT_ROUND_DOWN, __VA_ARGS__)

#define SIMT_BINARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a, T b) {                       \
        return function(operation, rounding, a, b, 0);              \
    }
#define SIMT_UNARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a) {                           \
        return function(operation, rounding, a, 0, 0);             \
    }
#define SIMT_RECIPROCAL(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a) {                                \
        return function(operation, rounding, 1, a, 0);                  \
    }
#define SIMT_TERNARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a, T b, T c) {                   \
        return function(operation, rounding, a, b, c);               \
    }

SIMT_ROUNDINGS(SIMT_BINARY, __fadd, float, simt_float_operation, SIMT_OP_ADD)
SIMT_ROUNDINGS(SIMT_BINARY, __fsub, float, simt_float_operation, SIMT_OP_SUB)
SIMT_ROUNDINGS(SIMT_BINARY, __fmul, float, simt_float_operation, SIMT_OP_MUL)
SIMT_ROUNDINGS(SIMT_BINARY, __fdiv, float, simt_float_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_TERNARY, __fmaf, float, simt_float_operation, SIMT_OP_FMA)
SIMT_ROUNDINGS(SIMT_UNARY, __fsqrt, float, simt_float_operation, SIMT_OP_SQRT)
SIMT_ROUNDINGS(SIMT_RECIPROCAL, __frcp, float, simt_float_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_BINARY, __dadd, double, simt_double_operation, SIMT_OP_ADD)
SIMT_ROUNDINGS(SIMT_BINARY, __dsub, double, simt_double_operation, SIMT_OP_SUB)
SIMT_ROUNDINGS(SIMT_BINARY, __dmul, double, simt_double_operation, SIMT_OP_MUL)
SIMT_ROUNDINGS(SIMT_BINARY, __ddiv, double, simt_double_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_TERNARY, __fma, double, simt_double_operation, SIMT_OP_FMA)
SIMT_ROUNDINGS(SIMT_UNARY, __dsqrt, double, simt_double_operation, SIMT_OP_SQRT)
SIMT_ROUNDINGS(SIMT_RECIPROCAL, __drcp, double, simt_double_operation, SIMT_OP_DIV)
#undef SIMT_TERNARY
#undef SIMT_RECIPROCAL
#undef SIMT_UNARY
#undef SIMT_BINARY
#undef SIMT_ROUNDINGS

/* To nearest even: the machine's own rounding. */
SIMT_INLINE float __fadd_rn(float a, float b) {
    return a + b;
}
SIMT_INLINE float __fsub_rn(float a, float b) {
    return a - b;
}
SIMT_INLINE float __fmul_rn(float a, float b) {
    return a * b;
}
SIMT_INLINE float __fdiv_rn(float a, float b) {
    return a / b;
}
SIMT_INLINE float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
SIMT_INLINE float __fsqrt_rn(float a) {
    return sqrtf(a);
}
SIMT_INLINE float __frcp_rn(float a) {
    return 1.0f / a;
}
SIMT_INLINE float __frsqrt_rn(float a) {
    return simt_float_operation(SIMT_OP_RSQRT, SIMT_ROUND_NEAREST, a, 0, 0);
}
SIMT_INLINE double __dadd_rn(double a, double b) {
    return a + b;
}
SIMT_INLINE double __dsub_rn(double a, double b) {
    return a - b;
}
SIMT_INLINE double __dmul_rn(double a, double b) {
    return a * b;
}
SIMT_INLINE double __ddiv_rn(double a, double b) {
    return a / b;
}
SIMT_INLINE double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
SIMT_INLINE double __dsqrt_rn(double a) {
    return sqrt(a);
}
SIMT_INLINE double __drcp_rn(double a) {
    return 1.0 / a;
}

#endif

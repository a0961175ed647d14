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
#include "special.h"

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

#include "math_fast.h"
#include "math_rounded.h"

#endif

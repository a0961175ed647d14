/* math_fast.h — the fast intrinsics: __expf and its family. */
#ifndef SIMT_MATH_FAST_H
#define SIMT_MATH_FAST_H

#include <math.h>

#include "boundary.h"

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

#endif

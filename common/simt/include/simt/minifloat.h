/* minifloat.h — half precision and bfloat16 on their bits, each operation rounded once: api/minifloat.c. C17 and C++.
 *
 * NaN results are the canonical 0x7fff, as on the GPU. min and max return the operand that is not NaN; -0 < +0.
 */
#ifndef SIMT_MINIFLOAT_HEADER_H
#define SIMT_MINIFLOAT_HEADER_H

#include "rounding.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIMT_MINIFLOAT(format)                                                      \
    float simt_##format##_to_float(uint16_t x) SIMT_CONST;                          \
    uint16_t simt_##format##_of_float(float x) SIMT_CONST; /* to nearest even */    \
    uint16_t simt_##format##_of_double(double x, int rounding) SIMT_CONST;          \
    uint16_t simt_##format##_of_i64(long long x, int rounding) SIMT_CONST;          \
    uint16_t simt_##format##_of_u64(unsigned long long x, int rounding) SIMT_CONST; \
    uint16_t simt_##format##_add(uint16_t a, uint16_t b) SIMT_CONST;                \
    uint16_t simt_##format##_sub(uint16_t a, uint16_t b) SIMT_CONST;                \
    uint16_t simt_##format##_mul(uint16_t a, uint16_t b) SIMT_CONST;                \
    uint16_t simt_##format##_div(uint16_t a, uint16_t b) SIMT_CONST;                \
    uint16_t simt_##format##_fma(uint16_t a, uint16_t b, uint16_t c) SIMT_CONST;    \
    uint16_t simt_##format##_min(uint16_t a, uint16_t b) SIMT_CONST;                \
    uint16_t simt_##format##_max(uint16_t a, uint16_t b) SIMT_CONST;

SIMT_MINIFLOAT(half)
SIMT_MINIFLOAT(bfloat)
#undef SIMT_MINIFLOAT

#ifdef __cplusplus
}
#endif
#endif

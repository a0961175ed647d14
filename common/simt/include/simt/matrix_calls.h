/* matrix_calls.h — the functions of engine/matrix.c: instructions of a whole warp on matrices. C17 and C++. */
#ifndef SIMT_MATRIX_CALLS_H
#define SIMT_MATRIX_CALLS_H

#include "boundary.h"

enum matrix_type { MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_F32, MATRIX_S8 };
enum { MATRIX_HALF_SUMS = 1024 };
#define MATRIX_SHAPE(type, k) ((unsigned)(type) << 6 | (unsigned)(k)) /* m = 16, n = 8 */
#define MATRIX_TYPE(shape)    ((enum matrix_type)((shape) >> 6 & 7))
#define MATRIX_K(shape)       ((shape)&63)

#ifdef __cplusplus
extern "C" {
#endif

/* Registers 0 and 1, 2 and 3; the first of a pair in the low half. */
struct simt_registers {
    uint64_t r01, r23;
};
/* ldmatrix: `count` (1, 2, 4) 8x8 matrices of 16-bit elements; low, high: the 16 bytes that this lane has loaded. */
struct simt_registers simt_load_matrices(int count, bool transposed, uint64_t low, uint64_t high) SIMT_NOTHROW;
/* mma.sync: c + a b. shape: MATRIX_SHAPE, with MATRIX_HALF_SUMS if c and the result are fp16. Those of MATRIX_S8 are int32. */
struct simt_registers simt_multiply_matrices(unsigned shape, uint64_t a01, uint64_t a23, uint64_t b01, uint64_t c01,
                                             uint64_t c23) SIMT_NOTHROW;

/* mma.h: the factors' type, the types of c and d (fp16 or fp32), and whether the fragments hold columns. */
struct simt_fragments {
    int m, n, k, type, c, d;
    bool a_by_columns, b_by_columns;
};
void simt_multiply_fragments(const struct simt_fragments *shape, void *d, const void *a, const void *b,
                             const void *c) SIMT_NOTHROW;
/* The lanes meet, and a pointer or leading dimension that is not aligned as CUDA requires is reported. */
enum { SIMT_LOAD_MATRIX, SIMT_STORE_MATRIX };
void simt_begin_matrix(const void *pointer, size_t leading_bytes, size_t element_bytes, int function) SIMT_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif

/* multiply.c — the arithmetic of a product: OpenBLAS on fp32; 16-bit operands through fp32 copies, unless the processor
 * multiplies bf16 (bf16.c). */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

__extension__ typedef _Float16 half;

/* ---- 16-bit types: each operand as fp32, packed (ld = rows) ---- */

float product_load(const void *from, int64_t i, cudaDataType type) {
    if (type == CUDA_R_32F) { return ((const float *)from)[i]; }
    if (type == CUDA_R_16F) { return (float)((const half *)from)[i]; }
    uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store(void *to, int64_t i, cudaDataType type, float value) {
    if (type == CUDA_R_32F) {
        ((float *)to)[i] = value;
    } else if (type == CUDA_R_16F) {
        ((half *)to)[i] = (half)value;
    } else {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        /* To nearest even; a NaN stays a NaN for any low bits. */
        ((uint16_t *)to)[i] = value != value ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

FOR_THIS_PROCESSOR static void unpack(float *to, const struct matrix *matrix, int64_t index) {
    for (int64_t column = 0; column < matrix->columns; column++) {
        int64_t from = index * matrix->stride + column * matrix->ld;
        for (int64_t row = 0; row < matrix->rows; row++) {
            *to++ = product_load(matrix->start, from + row, matrix->type);
        }
    }
}

/* ---- fp32 ---- */

/* d (m, n) = alpha op(a) op(b) + beta d. A product with a vector streams the matrix once: decoding depends on it. */
static void multiply(const struct product *p, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                     float *d, int64_t ldd) {
    enum CBLAS_TRANSPOSE op_a = p->op_a == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
    enum CBLAS_TRANSPOSE op_b = p->op_b == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
    if (p->n == 1) { /* d = op(a) times the only column of op(b) */
        bool plain = op_a == CblasNoTrans;
        cblas_sgemv(CblasColMajor, op_a, (int)(plain ? p->m : p->k), (int)(plain ? p->k : p->m), p->alpha, a, (int)lda,
                    b, op_b == CblasNoTrans ? 1 : (int)ldb, beta, d, 1);
    } else if (p->m == 1) { /* d's only row = op(b)^T times the only row of op(a) */
        bool plain = op_b == CblasNoTrans;
        cblas_sgemv(CblasColMajor, plain ? CblasTrans : CblasNoTrans, (int)(plain ? p->k : p->n),
                    (int)(plain ? p->n : p->k), p->alpha, b, (int)ldb, a, op_a == CblasNoTrans ? (int)lda : 1, beta, d,
                    (int)ldd);
    } else {
        cblas_sgemm(CblasColMajor, op_a, op_b, (int)p->m, (int)p->n, (int)p->k, p->alpha, a, (int)lda, b, (int)ldb,
                    beta, d, (int)ldd);
    }
}

static float gelu(float u) {
    return 0.5f * u * (1.0f + tanhf(0.7978845608028654f * (u + 0.044715f * u * u * u)));
}

FOR_THIS_PROCESSOR void product_finish(const struct product *p, const float *d, int64_t ldd, const struct tile *tile) {
    bool has_gelu = (p->epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
    for (int64_t column = 0; column < tile->columns; column++) {
        const int64_t to = tile->index * p->d.stride + (tile->column + column) * p->d.ld + tile->row;
        for (int64_t row = 0; row < tile->rows; row++) {
            float value = d[row + column * ldd];
            if (p->bias != NULL) { value += product_load(p->bias, tile->row + row, p->d.type); }
            if (has_gelu) { value = gelu(value); }
            store((void *)(uintptr_t)p->d.start, to + row, p->d.type, value);
        }
    }
}

static void finish(const struct product *p, const float *d, int64_t ldd, int64_t index) {
    product_finish(p, d, ldd, &(struct tile){index, 0, 0, p->m, p->n});
}

static void zero(const struct product *p, float *d, int64_t ldd) {
    for (int64_t column = 0; column < p->n; column++) { memset(d + column * ldd, 0, (size_t)p->m * sizeof *d); }
}

/* All operands are fp32, and C is D or not read: the sums are formed in place. */
static void multiply_in_place(const struct product *p) {
    for (int64_t i = 0; i < p->batch; i++) {
        float *d = (float *)(uintptr_t)p->d.start + i * p->d.stride;
        if (p->beta == 0.0f) { zero(p, d, p->d.ld); } /* d may contain NaN, and beta 0 must not read it */
        const float *a = (const float *)p->a.start + i * p->a.stride, *b = (const float *)p->b.start + i * p->b.stride;
        if (product_streams(p)) {
            product_stream(p, i, b, p->b.ld, d, p->d.ld);
        } else {
            multiply(p, a, p->a.ld, b, p->b.ld, p->beta, d, p->d.ld);
        }
        if (p->bias != NULL || p->epilogue != CUBLASLT_EPILOGUE_DEFAULT) { finish(p, d, p->d.ld, i); }
    }
}

bool product_multiply(const struct product *p) {
    bool floats = p->a.type == CUDA_R_32F && p->b.type == CUDA_R_32F && p->d.type == CUDA_R_32F;
    if (floats && (p->beta == 0.0f || (p->c.start == p->d.start && p->c.ld == p->d.ld))) {
        multiply_in_place(p);
        return true;
    }
    if (product_is_bf16(p)) { return product_multiply_bf16(p); }
    const bool streams = product_streams(p); /* then A is not unpacked */
    float *a = malloc((streams ? 1 : (size_t)(p->m * p->k + 1)) * sizeof *a),
          *b = malloc((size_t)(p->k * p->n + 1) * sizeof *b);
    float *d = malloc((size_t)(p->m * p->n) * sizeof *d);
    bool fits = a != NULL && b != NULL && d != NULL;
    for (int64_t i = 0; fits && i < p->batch; i++) {
        if (!streams && (i == 0 || p->a.stride != 0)) { unpack(a, &p->a, i); }
        if (i == 0 || p->b.stride != 0) { unpack(b, &p->b, i); }
        if (p->beta != 0.0f) {
            unpack(d, &p->c, i);
        } else {
            zero(p, d, p->m);
        }
        if (streams) {
            product_stream(p, i, b, p->b.rows, d, p->m);
        } else {
            multiply(p, a, p->a.rows, b, p->b.rows, p->beta, d, p->m);
        }
        finish(p, d, p->m, i);
    }
    free(a);
    free(b);
    free(d);
    return fits;
}

/* multiply.c — the arithmetic of a product: OpenBLAS on fp32; 16-bit operands through fp32 copies, unless the processor
 * multiplies bf16 (bf16.c). */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

__extension__ typedef _Float16 half;

/* ---- 16-bit types: each operand as fp32, packed (ld = rows) ---- */

static inline float float_of_bf16(uint16_t from) {
    uint32_t bits = (uint32_t)from << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* e4m3 in the places of a half is the value times 2^-8: the bias is 15 there, and 7 here. */
static inline float float_of_e4m3(uint8_t from) {
    const uint16_t bits = (uint16_t)((from & 0x80) << 8 | (from & 0x7f) << 7);
    half value;
    memcpy(&value, &bits, sizeof value);
    return (from & 0x7f) == 0x7f ? NAN : (float)value * 256.0f;
}

/* To nearest even; a NaN stays a NaN for any low bits. */
static inline uint16_t bf16_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float product_load(const void *from, int64_t i, cudaDataType type) {
    if (type == CUDA_R_32F) { return ((const float *)from)[i]; }
    if (type == CUDA_R_16F) { return (float)((const half *)from)[i]; }
    if (type == CUDA_R_8I) { return (float)((const int8_t *)from)[i]; }
    if (type == CUDA_R_8F_E4M3) { return float_of_e4m3(((const uint8_t *)from)[i]); }
    return float_of_bf16(((const uint16_t *)from)[i]);
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

/* ---- the epilogue: runs of results at a time, in loops that the compiler turns into vectors ---- */

/* e^x for finite x, with a relative error of about 1e-7; e^-87 and e^88 beyond. x = n ln 2 + r, |r| <= ln 2 / 2, and e^r is a
 * polynomial (Cephes, expf). */
static inline float exponential(float x) {
    const float shift = 0x1.8p23f; /* adding it rounds to an integer */
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float shifted = x * 1.44269504f + shift, n = shifted - shift, r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float power = 1.9875691500e-4f;
    power = power * r + 1.3981999507e-3f;
    power = power * r + 8.3334519073e-3f;
    power = power * r + 4.1665795894e-2f;
    power = power * r + 1.6666665459e-1f;
    power = power * r + 5.0000001201e-1f;
    power = power * r * r + r + 1.0f;
    uint32_t bits, exponent;
    memcpy(&bits, &power, sizeof bits);
    memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 23; /* the low bits of `shifted` are n */
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* u / 2 (1 + tanh(w)) = u / (1 + exp(-2w)), which does not cancel where u is far below 0. */
static inline float gelu(float u) {
    return u / (1.0f + exponential(u * (-1.5957691216057308f - 0.0713548162726f * u * u)));
}

/* The derivative, with s = 1 / (1 + exp(-2w)): s + u s (1 - s) d(2w)/du. */
static inline float gelu_slope(float u) {
    const float s = 1.0f / (1.0f + exponential(u * (-1.5957691216057308f - 0.0713548162726f * u * u)));
    return s + u * s * (1.0f - s) * (1.5957691216057308f + 3.0f * 0.0713548162726f * u * u);
}

enum { RUN = 256 };

/* to[i] = epilogue(d[i]) for up to RUN elements of a column; bias: those of their rows, or NULL. before: what GELU is applied
 * to, stored;
 * at: the same, read, where its derivative is a factor. */
#define FINISH_RUN(type, of_float, to_float)                                                               \
    FOR_THIS_PROCESSOR static void finish_##type(type *to, const float *d, const type *bias, type *before, \
                                                 const type *at, int64_t count, bool has_gelu) {           \
        float value[RUN];                                                                                  \
        for (int64_t i = 0; i < count; i++) { value[i] = d[i]; }                                           \
        for (int64_t i = 0; bias != NULL && i < count; i++) { value[i] += to_float(bias[i]); }             \
        for (int64_t i = 0; before != NULL && i < count; i++) { before[i] = of_float(value[i]); }          \
        for (int64_t i = 0; has_gelu && i < count; i++) { value[i] = gelu(value[i]); }                     \
        for (int64_t i = 0; at != NULL && i < count; i++) { value[i] *= gelu_slope(to_float(at[i])); }     \
        for (int64_t i = 0; i < count; i++) { to[i] = of_float(value[i]); }                                \
    }
#define ITSELF(value)  (value)
#define OF_HALF(value) ((float)(value))
#define TO_HALF(value) ((half)(value))
FINISH_RUN(float, ITSELF, ITSELF)
FINISH_RUN(half, TO_HALF, OF_HALF)
FINISH_RUN(uint16_t, bf16_of_float, float_of_bf16)

void product_finish(const struct product *p, const float *d, int64_t ldd, const struct tile *tile) {
    const bool has_gelu = (p->epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
    const size_t size = element_size(p->d.type);
    for (int64_t column = 0; column < tile->columns; column++) {
        const int64_t start = tile->index * p->d.stride + (tile->column + column) * p->d.ld + tile->row;
        for (int64_t row = 0; row < tile->rows; row += RUN) {
            const int64_t count = tile->rows - row < RUN ? tile->rows - row : RUN;
            void *to = (char *)(uintptr_t)p->d.start + (size_t)(start + row) * size;
            const void *bias = p->bias == NULL ? NULL : (const char *)p->bias + (size_t)(tile->row + row) * size;
            const float *from = d + row + column * ldd;
            char *aux = (char *)(uintptr_t)p->aux.start;
            if (aux != NULL) { aux += (size_t)((tile->column + column) * p->aux.ld + tile->row + row) * size; }
            void *before = writes_aux(p) ? aux : NULL;
            const void *at = reads_aux(p) ? aux : NULL;
            switch (p->d.type) {
                case CUDA_R_32F: finish_float(to, from, bias, before, at, count, has_gelu); break;
                case CUDA_R_16F: finish_half(to, from, bias, before, at, count, has_gelu); break;
                default: finish_uint16_t(to, from, bias, before, at, count, has_gelu); break;
            }
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

/* int8: in whole numbers. A part of k is short enough for exact sums in fp32: 128 * 128 * 1024 = 2^24. */
static bool multiply_whole(const struct product *p) {
    enum { PART = 1024 };
    float *a = malloc((size_t)(p->m * p->k + 1) * sizeof *a), *b = malloc((size_t)(p->k * p->n + 1) * sizeof *b);
    float *part = malloc((size_t)(p->m * p->n) * sizeof *part);
    const bool fits = a != NULL && b != NULL && part != NULL;
    if (fits) { unpack(a, &p->a, 0), unpack(b, &p->b, 0); }
    int32_t *const d = (int32_t *)(uintptr_t)p->d.start;
    for (int64_t n = 0; fits && n < p->n; n++) { memset(d + n * p->d.ld, 0, (size_t)p->m * sizeof *d); }
    for (int64_t first = 0; fits && first < p->k; first += PART) {
        struct product of_part = *p;
        of_part.k = p->k - first < PART ? p->k - first : PART;
        multiply(&of_part, a + first, p->k, b + first, p->k, 0.0f, part, p->m);
        for (int64_t n = 0; n < p->n; n++) {
            for (int64_t m = 0; m < p->m; m++) { d[n * p->d.ld + m] += (int32_t)part[n * p->m + m]; }
        }
    }
    free(a);
    free(b);
    free(part);
    return fits;
}

/* fp8: the scales are read when the product runs. */
static struct product scaled(const struct product *p) {
    struct product with = *p;
    if (p->a_scale != NULL) { with.alpha *= *p->a_scale; }
    if (p->b_scale != NULL) { with.alpha *= *p->b_scale; }
    return with;
}

bool product_multiply(const struct product *given) {
    const struct product of_scales = scaled(given), *p = &of_scales;
    if (p->a.type == CUDA_R_8I) { return multiply_whole(p); }
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

/* product.h — one batched product, for every function of cuBLAS.
 *
 *   D[i] = epilogue(alpha * op(A[i]) * op(B[i]) + beta * C[i])          column-major; op(A): (m, k), op(B): (k, n)
 *
 * Flow: cublas.c, cublas_lt.c → product_run → operands.c (checks) → multiply.c (OpenBLAS), or
 * stream.c where B has a few columns, or bf16.c where the processor multiplies bf16. parallel.c has their threads.
 */
#ifndef SIMT_CUBLAS_PRODUCT_H
#define SIMT_CUBLAS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "../api/api.h"
#include "../include/cublasLt.h"

/* Built for processors with AVX-512, with AVX2 and F16C, and for others: without F16C a half is converted by a call of the
 * library's. The results are the same, because sums are not contracted. */
#if defined(__x86_64__)
#define FOR_THIS_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define HAS_BF16_PRODUCTS  1 /* in the compiler; product_is_bf16 asks the processor */
#else
#define FOR_THIS_PROCESSOR
#endif

/* As stored, before op. */
struct matrix {
    const void *start;
    cudaDataType type;
    int64_t rows, columns, ld, stride; /* in elements */
};

struct product {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k, batch;
    float alpha, beta;
    struct matrix a, b, c, d;
    unsigned epilogue;
    const void *bias;               /* (m), d.type */
    struct matrix aux;              /* (m, n), d.type: what GELU is applied to; start NULL: of no use to the epilogue */
    const float *a_scale, *b_scale; /* (1), of fp8; NULL: 1 */
    const char *function;
    uintptr_t pc; /* the caller's line */
};

/* Executes the product, or records it when the stream captures. */
cublasStatus_t product_run(const struct product *product, cudaStream_t stream);

/* operands.c. False: reported already. */
bool operands_valid(const struct product *product);
void operands_written(const struct product *product);

/* Element i of an array of that type. */
float product_load(const void *from, int64_t i, cudaDataType type);

/* multiply.c. False: no memory for the 16-bit types' copies. */
bool product_multiply(const struct product *product);

/* Rows and columns of one matrix of the batch. */
struct tile {
    int64_t index, row, column, rows, columns;
};

/* The epilogue: from the tile's sums in d (ldd) to the matrix itself. */
void product_finish(const struct product *product, const float *d, int64_t ldd, const struct tile *tile);

/* bf16.c. False: the processor cannot, or another way is faster; no memory for packed operands. */
bool product_is_bf16(const struct product *product);
bool product_multiply_bf16(const struct product *product);

/* Calls run(work) on every thread of the backend. */
void product_parallel(void (*run)(void *work), void *work);

/* stream.c: does the product read A once, row after row? Then B and D are fp32, with a column every ldb and ldd elements. */
bool product_streams(const struct product *product);
void product_stream(const struct product *product, int64_t index, const float *b, int64_t ldb, float *d, int64_t ldd);

size_t element_size(cudaDataType type); /* 0: not supported */
bool is_float(cudaDataType type);       /* fp32, fp16, bf16 */

/* Of the epilogue: is aux its input, or its output? */
static inline bool reads_aux(const struct product *product) {
    return product->epilogue == CUBLASLT_EPILOGUE_DGELU;
}
static inline bool writes_aux(const struct product *product) {
    return product->aux.start != NULL && !reads_aux(product);
}

#endif

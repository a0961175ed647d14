/* product.h — one batched product, whichever function of cuBLAS asked for it.
 *
 *   D[i] = epilogue(alpha * op(A[i]) * op(B[i]) + beta * C[i])          column-major; op(A): (m, k), op(B): (k, n)
 *
 * Flow: cublas.c, cublas_lt.c → product_run → operands.c (are they where they should be?) → multiply.c (OpenBLAS), or
 * stream.c where B has a few columns.
 */
#ifndef SIMT_CUBLAS_PRODUCT_H
#define SIMT_CUBLAS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "../api/api.h"
#include "../include/cublasLt.h"

/* Built twice, for processors with AVX2 and F16C and for others: without F16C a half is converted by a call of the library's. */
#if defined(__x86_64__)
#define FOR_THIS_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_THIS_PROCESSOR
#endif

/* As it lies in memory: before op. */
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
    const void *bias; /* (m), d.type */
    const char *function;
    uintptr_t pc; /* the caller's line */
};

/* Now, or recorded when the stream captures. */
cublasStatus_t product_run(const struct product *product, cudaStream_t stream);

/* operands.c. False: reported already. */
bool operands_valid(const struct product *product);
void operands_written(const struct product *product);

/* multiply.c. False: no memory for the 16-bit types' copies. */
bool product_multiply(const struct product *product);

/* stream.c: is it a product that reads A once, row after row? Then with B and D in fp32, a column every ldb and ldd. */
bool product_streams(const struct product *product);
void product_stream(const struct product *product, int64_t index, const float *b, int64_t ldb, float *d, int64_t ldd);

size_t element_size(cudaDataType type); /* 0: not one that is taken */

#endif

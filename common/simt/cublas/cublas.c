/* cublas.c — the functions of cublas_v2.h: handles, and products in the classic form. */
#include <limits.h>
#include <stdlib.h>

#include "product.h"

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
};

/* ---- a product, now or when the graph runs ---- */

static void run_recorded(void *data) {
    const struct product *product = data;
    if (operands_valid(product) && product_multiply(product)) { operands_written(product); }
}

cublasStatus_t product_run(const struct product *product, cudaStream_t stream) {
    if (product->m == 0 || product->n == 0 || product->batch == 0) { return CUBLAS_STATUS_SUCCESS; }
    if (!stream_valid(stream)) { return CUBLAS_STATUS_EXECUTION_FAILED; }
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL) {
        cudaError_t error = graph_add_host_copy(graph, run_recorded, product, sizeof *product);
        return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
    }
    if (!operands_valid(product)) { return CUBLAS_STATUS_EXECUTION_FAILED; }
    if (!product_multiply(product)) { return CUBLAS_STATUS_ALLOC_FAILED; }
    operands_written(product);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- handles ---- */

#define HANDLE(handle)                                                \
    do {                                                              \
        if (handle == NULL) { return CUBLAS_STATUS_NOT_INITIALIZED; } \
    } while (0)

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    if (handle == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    HANDLE(handle);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version) {
    HANDLE(handle);
    if (version == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    *version = 130000;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    HANDLE(handle);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream) {
    HANDLE(handle);
    if (stream == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    HANDLE(handle);
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode) {
    HANDLE(handle);
    if (mode == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    HANDLE(handle);
    return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
    HANDLE(handle);
    (void)workspace, (void)bytes;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
        case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
        case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
        case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
        case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
    }
    return "an unknown status";
}

const char *cublasGetStatusString(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS: return "success";
        case CUBLAS_STATUS_NOT_INITIALIZED: return "no handle";
        case CUBLAS_STATUS_ALLOC_FAILED: return "out of memory";
        case CUBLAS_STATUS_INVALID_VALUE: return "an invalid argument";
        case CUBLAS_STATUS_EXECUTION_FAILED: return "the product could not be done";
        case CUBLAS_STATUS_NOT_SUPPORTED: return "not supported";
        default: return cublasGetStatusName(status);
    }
}

/* ---- products ---- */

static bool computes_in_float(cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_32F || type == CUBLAS_COMPUTE_32F_PEDANTIC || type == CUBLAS_COMPUTE_32F_FAST_16F ||
           type == CUBLAS_COMPUTE_32F_FAST_16BF || type == CUBLAS_COMPUTE_32F_FAST_TF32;
}

static bool computes_in_half(cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_16F || type == CUBLAS_COMPUTE_16F_PEDANTIC;
}

static float scalar(const void *value, cublasComputeType_t type) {
    return computes_in_half(type) ? product_load(value, 0, CUDA_R_16F) : *(const float *)value;
}

static bool valid_op(cublasOperation_t op) {
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static struct matrix stored(const void *start, cudaDataType type, bool plain, int rows, int columns, int ld,
                            long long stride) {
    return (struct matrix){start, type, plain ? rows : columns, plain ? columns : rows, ld, stride};
}

static cublasStatus_t classic(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA,
                              const void *B, cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C,
                              cudaDataType Ctype, int ldc, long long strideC, int batch, cublasComputeType_t compute,
                              const char *function, uintptr_t pc) {
    HANDLE(handle);
    if (m < 0 || n < 0 || k < 0 || batch < 0 || !valid_op(transa) || !valid_op(transb) || alpha == NULL ||
        beta == NULL) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    struct product product = {
        .op_a = transa,
        .op_b = transb,
        .m = m,
        .n = n,
        .k = k,
        .batch = batch,
        .alpha = scalar(alpha, compute),
        .beta = scalar(beta, compute),
        .a = stored(A, Atype, transa == CUBLAS_OP_N, m, k, lda, strideA),
        .b = stored(B, Btype, transb == CUBLAS_OP_N, k, n, ldb, strideB),
        .c = stored(C, Ctype, true, m, n, ldc, strideC),
        .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
        .function = function,
        .pc = pc,
    };
    product.d = product.c;
    if (lda < 1 || lda < product.a.rows || ldb < 1 || ldb < product.b.rows || ldc < 1 || ldc < m) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool taken = Atype == Btype && is_float(Atype) && (Ctype == Atype || Ctype == CUDA_R_32F);
    if (computes_in_half(compute) ? Atype != CUDA_R_16F || Ctype != CUDA_R_16F : !computes_in_float(compute)) {
        taken = false;
    }
    if (!taken) { return CUBLAS_STATUS_NOT_SUPPORTED; }
    return product_run(&product, handle->stream);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                           const float *beta, float *C, int ldc) {
    return classic(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda, 0, B, CUDA_R_32F, ldb, 0, beta, C,
                   CUDA_R_32F, ldc, 0, 1, CUBLAS_COMPUTE_32F, __func__, CALLER);
}

/* cublas_v2.h declares it for C++ only, which has the type half. */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const void *alpha, const void *A, int lda, const void *B, int ldb, const void *beta,
                           void *C, int ldc);
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const void *alpha, const void *A, int lda, const void *B, int ldb, const void *beta,
                           void *C, int ldc) {
    return classic(handle, transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, 0, B, CUDA_R_16F, ldb, 0, beta, C,
                   CUDA_R_16F, ldc, 0, 1, CUBLAS_COMPUTE_16F, __func__, CALLER);
}

/* The vectors are rows whose elements lie inc apart: yT = alpha * xT * op(A)T + beta * yT. */
cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                           const float *A, int lda, const float *x, int incx, const float *beta, float *y, int incy) {
    bool plain = trans == CUBLAS_OP_N;
    if (!valid_op(trans) || incx < 1 || incy < 1) { /* cuBLAS also takes negative increments */
        return incx < 0 || incy < 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_INVALID_VALUE;
    }
    return classic(handle, CUBLAS_OP_N, plain ? CUBLAS_OP_T : CUBLAS_OP_N, 1, plain ? m : n, plain ? n : m, alpha, x,
                   CUDA_R_32F, incx, 0, A, CUDA_R_32F, lda, 0, beta, y, CUDA_R_32F, incy, 0, 1, CUBLAS_COMPUTE_32F,
                   __func__, CALLER);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
    (void)algo;
    return classic(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C, Ctype, ldc, 0,
                   1, computeType, __func__, CALLER);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb, long long strideB,
                                         const float *beta, float *C, int ldc, long long strideC, int batchCount) {
    return classic(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda, strideA, B, CUDA_R_32F, ldb, strideB,
                   beta, C, CUDA_R_32F, ldc, strideC, batchCount, CUBLAS_COMPUTE_32F, __func__, CALLER);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long strideA, const void *B, cudaDataType Btype, int ldb,
                                          long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long strideC, int batchCount, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo) {
    (void)algo;
    return classic(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C,
                   Ctype, ldc, strideC, batchCount, computeType, __func__, CALLER);
}

/* ---- copies ---- */

static cublasStatus_t copy(int rows, int columns, int size, const void *from, int from_ld, void *to, int to_ld,
                           enum cudaMemcpyKind kind, const char *function, uintptr_t pc) {
    if (rows < 0 || columns < 0 || size < 1 || from_ld < 1 || to_ld < 1) { return CUBLAS_STATUS_INVALID_VALUE; }
    cudaError_t error = copy_now(to, (size_t)to_ld * (size_t)size, from, (size_t)from_ld * (size_t)size,
                                 (size_t)rows * (size_t)size, (size_t)columns, kind, function, pc);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t cublasSetVector(int n, int elemSize, const void *x, int incx, void *devicePtr, int incy) {
    return copy(1, n, elemSize, x, incx, devicePtr, incy, cudaMemcpyHostToDevice, __func__, CALLER);
}

cublasStatus_t cublasGetVector(int n, int elemSize, const void *x, int incx, void *y, int incy) {
    return copy(1, n, elemSize, x, incx, y, incy, cudaMemcpyDeviceToHost, __func__, CALLER);
}

cublasStatus_t cublasSetMatrix(int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb) {
    return copy(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyHostToDevice, __func__, CALLER);
}

cublasStatus_t cublasGetMatrix(int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb) {
    return copy(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyDeviceToHost, __func__, CALLER);
}

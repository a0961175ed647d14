/* cublasLt.h — the part of cuBLASLt that the course uses, over OpenBLAS: one product with an epilogue.
 *
 *   D (m, n) = epilogue(alpha * op(A) (m, k) * op(B) (k, n) + beta * C)
 *
 * Types, checks, counters and captures are those of cublas_v2.h. Epilogues: DEFAULT, BIAS (a value for each row of
 * D, of D's type), GELU (the tanh form), GELU_BIAS. GELU_AUX and GELU_AUX_BIAS also store what GELU is applied to, in D's type
 * and shape. DGELU multiplies by GELU's derivative there. The epilogue works on the fp32 sums, before the one rounding.
 * Layouts are column-major; a batch has at most 65535 products. A heuristic gives one algorithm, that of OpenBLAS; it may be
 * stored and used again. Workspace is not needed.
 *
 * Products of 8 bits, with the conditions of cuBLASLt on a GPU: A is transposed, B is not, one product at a time.
 *   CUDA_R_8F_E4M3  D (fp32, fp16, bf16) = epilogue(alpha a_scale b_scale op(A) B + beta C). The scales are device pointers to a
 *                   float each, 1 where they are null. m and k are multiples of 16; with a bias D is of 16 bits
 *   CUDA_R_8I       D (CUDA_R_32I) = alpha op(A) B + beta C in whole numbers, without an epilogue: CUBLAS_COMPUTE_32I, alpha and
 *                   beta are int32_t, 1 and 0. m and k are multiples of 4
 */
#ifndef SIMT_CUBLASLT_H
#define SIMT_CUBLASLT_H

#include <cublas_v2.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque *cublasLtMatmulPreference_t;

typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;

typedef enum {
    CUBLASLT_MATRIX_LAYOUT_TYPE = 0,                 /* uint32_t: cudaDataType */
    CUBLASLT_MATRIX_LAYOUT_ORDER = 1,                /* int32_t: only CUBLASLT_ORDER_COL */
    CUBLASLT_MATRIX_LAYOUT_ROWS = 2,                 /* uint64_t */
    CUBLASLT_MATRIX_LAYOUT_COLS = 3,                 /* uint64_t */
    CUBLASLT_MATRIX_LAYOUT_LD = 4,                   /* int64_t */
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          /* int32_t */
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, /* int64_t, in elements */
} cublasLtMatrixLayoutAttribute_t;

typedef enum {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,          /* int32_t: cublasComputeType_t */
    CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,            /* int32_t: cudaDataType, only that of its creation */
    CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,          /* int32_t: only host */
    CUBLASLT_MATMUL_DESC_TRANSA = 3,                /* int32_t: cublasOperation_t */
    CUBLASLT_MATMUL_DESC_TRANSB = 4,                /* int32_t */
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,              /* uint32_t: cublasLtEpilogue_t */
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,          /* const void *, on the device */
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11, /* void *, on the device */
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,      /* int64_t, in elements */
    CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,      /* const float *, on the device */
    CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
    CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,     /* int8_t: taken, without effect */
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26, /* int32_t: only D's type */
} cublasLtMatmulDescAttributes_t;

typedef enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 32 | 4,
    CUBLASLT_EPILOGUE_GELU_AUX = 32 | 128,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 32 | 128 | 4,
    CUBLASLT_EPILOGUE_DGELU = 64 | 128,
} cublasLtEpilogue_t;

typedef enum { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 } cublasLtMatmulPreferenceAttributes_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
size_t cublasLtGetVersion(void);

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t size);

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t computeType,
                                        cudaDataType scaleType);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size);

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t size);

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                              cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int *found);

/* algo: from the heuristic, or NULL. C may be D. */
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                              const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceSize, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif

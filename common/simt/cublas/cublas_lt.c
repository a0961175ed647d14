/* cublas_lt.c — the functions of cublasLt.h: descriptions with attributes, and one product with an epilogue. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

struct cublasLtContext {
    int unused;
};

struct cublasLtMatrixLayoutOpaque {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

struct cublasLtMatmulDescOpaque {
    cublasOperation_t op_a, op_b;
    cublasLtEpilogue_t epilogue;
    const void *bias, *aux;
    int64_t aux_ld;
    int32_t bias_type;  /* -1: D's */
    int32_t scale_type; /* of alpha and beta */
    const float *a_scale, *b_scale;
};

enum { with_aux = CUBLASLT_EPILOGUE_GELU_AUX & CUBLASLT_EPILOGUE_DGELU }; /* the bit of these epilogues */

enum { most_batch = 65535 }; /* as cuBLASLt's kernels, where it is an extent of the grid */

struct cublasLtMatmulPreferenceOpaque {
    uint64_t workspace;
};

#define NEW(pointer)                                                                                 \
    do {                                                                                             \
        if (pointer == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }                                 \
        if ((*pointer = calloc(1, sizeof **pointer)) == NULL) { return CUBLAS_STATUS_ALLOC_FAILED; } \
    } while (0)

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    NEW(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) {
    return 130000;
}

/* ---- layouts ---- */

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
    NEW(layout);
    **layout = (struct cublasLtMatrixLayoutOpaque){.type = type, .rows = rows, .columns = cols, .ld = ld, .batch = 1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

/* Copies an attribute of exactly that size. */
static cublasStatus_t take(void *to, size_t wanted, const void *value, size_t size) {
    if (value == NULL || size != wanted) { return CUBLAS_STATUS_INVALID_VALUE; }
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}
#define TAKE(field) take(&(field), sizeof(field), value, size)

/* An attribute that may have one value only. */
static cublasStatus_t only(int32_t wanted, const void *value, size_t size) {
    int32_t given;
    cublasStatus_t status = TAKE(given);
    if (status != CUBLAS_STATUS_SUCCESS) { return status; }
    return given == wanted ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t size) {
    if (layout == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    switch (attribute) {
        case CUBLASLT_MATRIX_LAYOUT_TYPE: return TAKE(layout->type);
        case CUBLASLT_MATRIX_LAYOUT_ORDER: return only(CUBLASLT_ORDER_COL, value, size);
        case CUBLASLT_MATRIX_LAYOUT_ROWS: return TAKE(layout->rows);
        case CUBLASLT_MATRIX_LAYOUT_COLS: return TAKE(layout->columns);
        case CUBLASLT_MATRIX_LAYOUT_LD: return TAKE(layout->ld);
        case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return TAKE(layout->batch);
        case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return TAKE(layout->stride);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- what to do ---- */

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t computeType,
                                        cudaDataType scaleType) {
    NEW(desc);
    /* every other compute type here sums in fp32 */
    const cudaDataType wanted = computeType == CUBLAS_COMPUTE_32I ? CUDA_R_32I : CUDA_R_32F;
    **desc = (struct cublasLtMatmulDescOpaque){
        .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .bias_type = -1, .scale_type = (int32_t)scaleType};
    return scaleType == wanted ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_epilogue(cublasLtMatmulDesc_t desc, const void *value, size_t size) {
    uint32_t epilogue;
    cublasStatus_t status = TAKE(epilogue);
    if (status != CUBLAS_STATUS_SUCCESS) { return status; }
    switch (epilogue) {
        case CUBLASLT_EPILOGUE_DEFAULT:
        case CUBLASLT_EPILOGUE_BIAS:
        case CUBLASLT_EPILOGUE_GELU:
        case CUBLASLT_EPILOGUE_GELU_BIAS:
        case CUBLASLT_EPILOGUE_GELU_AUX:
        case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
        case CUBLASLT_EPILOGUE_DGELU: desc->epilogue = (cublasLtEpilogue_t)epilogue; return CUBLAS_STATUS_SUCCESS;
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size) {
    int32_t compute;
    int8_t fast;
    if (desc == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return TAKE(compute);
        case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return only(desc->scale_type, value, size);
        case CUBLASLT_MATMUL_DESC_POINTER_MODE: return only(CUBLAS_POINTER_MODE_HOST, value, size);
        case CUBLASLT_MATMUL_DESC_TRANSA: return TAKE(desc->op_a);
        case CUBLASLT_MATMUL_DESC_TRANSB: return TAKE(desc->op_b);
        case CUBLASLT_MATMUL_DESC_EPILOGUE: return set_epilogue(desc, value, size);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return TAKE(desc->bias);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return TAKE(desc->aux);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return TAKE(desc->aux_ld);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return TAKE(desc->bias_type);
        case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return TAKE(desc->a_scale);
        case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return TAKE(desc->b_scale);
        case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return TAKE(fast);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
    NEW(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t size) {
    if (preference == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) { return CUBLAS_STATUS_NOT_SUPPORTED; }
    return TAKE(preference->workspace);
}

/* ---- the product ---- */

static struct matrix matrix_of(const void *start, const struct cublasLtMatrixLayoutOpaque *layout) {
    return (struct matrix){start,      layout->type,  (int64_t)layout->rows, (int64_t)layout->columns,
                           layout->ld, layout->stride};
}

static bool valid_layout(const struct cublasLtMatrixLayoutOpaque *layout) {
    return layout->rows <= INT_MAX && layout->columns <= INT_MAX && layout->ld >= (int64_t)layout->rows &&
           layout->ld <= INT_MAX && layout->batch >= 1;
}

/* The types of a product, and what 8 bits require. */
static bool takes_types(const struct product *p, const struct cublasLtMatmulDescOpaque *desc) {
    const cudaDataType from = p->a.type, to = p->d.type;
    const bool is_int8 = from == CUDA_R_8I, is_fp8 = from == CUDA_R_8F_E4M3;
    if (p->b.type != from || p->c.type != to || is_int8 != (desc->scale_type == CUDA_R_32I)) { return false; }
    if (!is_fp8 && (desc->a_scale != NULL || desc->b_scale != NULL)) { return false; }
    if (!is_int8 && !is_fp8) { return is_float(from) && (to == from || to == CUDA_R_32F); }
    const int64_t multiple = is_fp8 ? 16 : 4;
    const bool goes = is_fp8 ? (to == CUDA_R_16F || to == CUDA_R_16BF || (to == CUDA_R_32F && p->bias == NULL))
                             : to == CUDA_R_32I && p->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    return goes && p->op_a != CUBLAS_OP_N && p->op_b == CUBLAS_OP_N && p->batch == 1 && p->m % multiple == 0 &&
           p->k % multiple == 0;
}

/* Fills a product from the descriptions, without the pointers. */
static cublasStatus_t describe(struct product *product, const struct cublasLtMatmulDescOpaque *desc,
                               const struct cublasLtMatrixLayoutOpaque *a, const struct cublasLtMatrixLayoutOpaque *b,
                               const struct cublasLtMatrixLayoutOpaque *c, const struct cublasLtMatrixLayoutOpaque *d) {
    if (desc == NULL || a == NULL || b == NULL || c == NULL || d == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    if (!valid_layout(a) || !valid_layout(b) || !valid_layout(c) || !valid_layout(d)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool plain_a = desc->op_a == CUBLAS_OP_N, plain_b = desc->op_b == CUBLAS_OP_N;
    *product = (struct product){.op_a = desc->op_a,
                                .op_b = desc->op_b,
                                .m = (int64_t)d->rows,
                                .n = (int64_t)d->columns,
                                .k = (int64_t)(plain_a ? a->columns : a->rows),
                                .batch = d->batch,
                                .a = matrix_of(NULL, a),
                                .b = matrix_of(NULL, b),
                                .c = matrix_of(NULL, c),
                                .d = matrix_of(NULL, d),
                                .epilogue = desc->epilogue,
                                .bias = (desc->epilogue & CUBLASLT_EPILOGUE_BIAS) ? desc->bias : NULL,
                                .a_scale = desc->a_scale,
                                .b_scale = desc->b_scale};
    if (desc->epilogue & with_aux) {
        product->aux = matrix_of(desc->aux, d);
        product->aux.ld = desc->aux_ld;
        if (desc->aux == NULL || desc->aux_ld < product->m) { return CUBLAS_STATUS_INVALID_VALUE; }
    }
    bool fits = (plain_a ? a->rows : a->columns) == d->rows && (plain_b ? b->columns : b->rows) == d->columns &&
                (int64_t)(plain_b ? b->rows : b->columns) == product->k && c->rows == d->rows &&
                c->columns == d->columns && a->batch == d->batch && b->batch == d->batch && c->batch == d->batch;
    if (!fits || ((desc->epilogue & CUBLASLT_EPILOGUE_BIAS) && desc->bias == NULL)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool taken = takes_types(product, desc) && d->batch <= most_batch &&
                 (desc->bias_type < 0 || desc->bias_type == (int32_t)d->type) &&
                 (d->batch == 1 || !(desc->epilogue & with_aux));
    return taken ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                              cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int *found) {
    struct product product;
    if (handle == NULL) { return CUBLAS_STATUS_NOT_INITIALIZED; }
    if (preference == NULL || requested < 1 || results == NULL || found == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    *found = 0;
    cublasStatus_t status = describe(&product, desc, A, B, C, D);
    if (status != CUBLAS_STATUS_SUCCESS) { return status; }
    results[0] = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1.0f};
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                              const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceSize, cudaStream_t stream) {
    struct product product;
    (void)algo, (void)workspace, (void)workspaceSize;
    if (handle == NULL) { return CUBLAS_STATUS_NOT_INITIALIZED; }
    if (alpha == NULL || beta == NULL) { return CUBLAS_STATUS_INVALID_VALUE; }
    cublasStatus_t status = describe(&product, desc, Adesc, Bdesc, Cdesc, Ddesc);
    if (status != CUBLAS_STATUS_SUCCESS) { return status; }
    const bool whole = desc->scale_type == CUDA_R_32I;
    product.alpha = whole ? (float)*(const int32_t *)alpha : *(const float *)alpha;
    product.beta = whole ? (float)*(const int32_t *)beta : *(const float *)beta;
    if (whole && (product.alpha != 1.0f || product.beta != 0.0f)) { return CUBLAS_STATUS_NOT_SUPPORTED; }
    product.a.start = A;
    product.b.start = B;
    product.c.start = C;
    product.d.start = D;
    product.function = __func__;
    product.pc = (uintptr_t)__builtin_return_address(0);
    return product_run(&product, stream);
}

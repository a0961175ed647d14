/* The backend's cuBLAS against plain loops: shapes, transposes, types, batches; and its refusals. */
#include <math.h>

#include "../../include/simt/cublas_traffic.h"
#include "buffers.h"

static cublasHandle_t blas;

static void begin(void) {
    quiet();
    cr_assert_eq(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
}
static void end(void) {
    cublasDestroy(blas);
}
TestSuite(cublas, .init = begin, .fini = end, .timeout = 120);

struct shape {
    int m, n, k, batch, extra; /* extra: added to the least ld of each matrix */
    cublasOperation_t op_a, op_b;
    cudaDataType type, out;
    float beta;
};

ParameterizedTestParameters(cublas, strided_batched) {
    static struct shape shapes[400];
    static const int sizes[][4] = {{1, 1, 1, 1}, {5, 1, 7, 1},     {1, 6, 9, 2},     {33, 17, 65, 3}, {64, 64, 64, 1},
                                   {3, 2, 0, 2}, {150, 13, 31, 2}, {70, 401, 40, 1}, {20, 5, 0, 1}};
    static const cudaDataType types[][2] = {
        {CUDA_R_32F, CUDA_R_32F}, {CUDA_R_16F, CUDA_R_16F}, {CUDA_R_16BF, CUDA_R_16BF}, {CUDA_R_16BF, CUDA_R_32F}};
    size_t count = 0;
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        for (size_t type = 0; type < 4; type++) {
            for (int ops = 0; ops < 4; ops++) {
                const int *s = sizes[size];
                shapes[count] = (struct shape){s[0],
                                               s[1],
                                               s[2],
                                               s[3],
                                               (int)(count % 3),
                                               ops & 1 ? CUBLAS_OP_T : 0,
                                               ops & 2 ? CUBLAS_OP_T : 0,
                                               types[type][0],
                                               types[type][1],
                                               count % 2 ? 0.5f : 0.0f};
                count++;
            }
        }
    }
    return cr_make_param_array(struct shape, shapes, count);
}

ParameterizedTest(struct shape *s, cublas, strided_batched) {
    bool plain_a = s->op_a == CUBLAS_OP_N, plain_b = s->op_b == CUBLAS_OP_N;
    int lda = (plain_a ? s->m : s->k) + s->extra + (s->k == 0), ldb = (plain_b ? s->k : s->n) + s->extra + (s->k == 0);
    int ldc = s->m + s->extra;
    int columns_a = plain_a ? s->k : s->m, columns_b = plain_b ? s->n : s->k;
    long long stride_a = (long long)lda * columns_a + 1, stride_b = (long long)ldb * columns_b;
    long long stride_c = (long long)ldc * s->n + 2;
    struct buffer a = filled((size_t)(stride_a * s->batch + 1), s->type, 1);
    struct buffer b = filled((size_t)(stride_b * s->batch + 1), s->type, 2);
    struct buffer c = filled((size_t)(stride_c * s->batch), s->out, 3), before = filled(c.count, s->out, 3);
    float alpha = 0.25f;
    cr_assert_eq(cublasGemmStridedBatchedEx(blas, s->op_a, s->op_b, s->m, s->n, s->k, &alpha, a.device, s->type, lda,
                                            stride_a, b.device, s->type, ldb, stride_b, &s->beta, c.device, s->out, ldc,
                                            stride_c, s->batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 CUBLAS_STATUS_SUCCESS);
    fetch(&c);
    for (size_t i = 0; i < c.count; i++) {
        size_t matrix = i / (size_t)stride_c, in = i % (size_t)stride_c;
        int row = (int)(in % (size_t)ldc), column = (int)(in / (size_t)ldc);
        if (row >= s->m || column >= s->n) { /* between the matrices: untouched */
            cr_assert_eq(get(c.host, i, s->out), get(before.host, i, s->out));
            continue;
        }
        double sum = 0.0;
        for (int k = 0; k < s->k; k++) {
            size_t at_a = matrix * (size_t)stride_a + (size_t)(plain_a ? row + k * lda : k + row * lda);
            size_t at_b = matrix * (size_t)stride_b + (size_t)(plain_b ? k + column * ldb : column + k * ldb);
            sum += (double)get(a.host, at_a, s->type) * (double)get(b.host, at_b, s->type);
        }
        float expected = (float)(alpha * sum + (double)s->beta * (double)get(before.host, i, s->out));
        char rounded[4] = {0};
        put(rounded, 0, s->out, expected);
        cr_assert_eq(get(c.host, i, s->out), get(rounded, 0, s->out), "(%d, %d): %g, not %g", row, column,
                     (double)get(c.host, i, s->out), (double)expected);
    }
    cr_assert_eq(simt_finding_count(), 0u);
    drop(&a), drop(&b), drop(&c), drop(&before);
}

Test(cublas, beta_zero_does_not_read) {
    struct buffer a = filled(4, CUDA_R_32F, 1), c = filled(4, CUDA_R_32F, 1);
    float nan[4] = {NAN, NAN, NAN, NAN}, one = 1.0f, zero = 0.0f;
    cudaMemcpy(c.device, nan, sizeof nan, cudaMemcpyHostToDevice);
    for (int n = 1; n <= 2; n++) { /* a vector and a matrix */
        cr_assert_eq(
            cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, n, 2, &one, a.device, 2, a.device, 2, &zero, c.device, 2),
            CUBLAS_STATUS_SUCCESS);
        fetch(&c);
        for (int i = 0; i < 2 * n; i++) { cr_assert(isfinite(((float *)c.host)[i])); }
    }
    drop(&a), drop(&c);
}

/* ---- refusals ---- */

static cublasStatus_t product(const void *a, const void *b, void *c, int m, int n, int k, int lda) {
    float one = 1.0f, zero = 0.0f;
    return cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, k, &zero, c, m);
}

static bool found(enum simt_finding_kind kind, const char *text) {
    for (size_t i = 0; i < simt_finding_count(); i++) {
        if (simt_finding_at(i)->kind == kind && strstr(simt_finding_at(i)->text, text)) { return true; }
    }
    return false;
}

Test(cublas, operands_are_checked) {
    struct buffer a = filled(16, CUDA_R_32F, 1), b = filled(16, CUDA_R_32F, 2), c = filled(16, CUDA_R_32F, 3);
    cr_assert_eq(product(a.device, b.device, c.device, 4, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
    cr_assert_eq(simt_finding_count(), 0u);
    cr_assert_eq(product(a.device, b.device, c.device, 4, 4, 4, 3), CUBLAS_STATUS_INVALID_VALUE);
    cr_assert_eq(product(a.device, b.device, c.device, -1, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
    cr_assert_eq(product(a.host, b.device, c.device, 4, 4, 4, 4), CUBLAS_STATUS_EXECUTION_FAILED);
    cr_assert(found(SIMT_HOST_POINTER, "cublasSgemm: A is"));
    cr_assert_eq(product(a.device, b.device, c.device, 4, 5, 4, 4), CUBLAS_STATUS_EXECUTION_FAILED);
    cr_assert(found(SIMT_OUT_OF_BOUNDS, "cublasSgemm: B at"));
    drop(&a), drop(&b), drop(&c);
}

Test(cublas, unwritten_operands_are_reported) {
    struct buffer a = filled(16, CUDA_R_32F, 1), c = filled(16, CUDA_R_32F, 3);
    float *fresh;
    cudaMalloc((void **)&fresh, 16 * sizeof(float));
    cudaMemcpy(fresh, a.host, 12 * sizeof(float), cudaMemcpyHostToDevice);
    cr_assert_eq(product(a.device, fresh, c.device, 4, 3, 4, 4), CUBLAS_STATUS_SUCCESS); /* three columns are written */
    cr_assert_eq(simt_finding_count(), 0u);
    product(a.device, fresh, c.device, 4, 4, 4, 4);
    cr_assert(found(SIMT_UNINITIALISED, "row 0, column 3 of B"));
    cr_assert_eq(product(a.device, a.device, fresh, 4, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
    simt_findings_clear();
    product(a.device, fresh, c.device, 4, 4, 4, 4); /* a product has written it */
    cr_assert_eq(simt_finding_count(), 0u);
    cudaFree(fresh), drop(&a), drop(&c);
}

Test(cublas, types_that_do_not_go_together) {
    struct buffer a = filled(16, CUDA_R_32F, 1);
    float one = 1.0f, zero = 0.0f;
    cr_assert_eq(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.device, CUDA_R_16F, 2, a.device,
                              CUDA_R_32F, 2, &zero, a.device, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(
        cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a.device, 1, a.device, 1, &zero, a.device, 1),
        CUBLAS_STATUS_NOT_INITIALIZED);
    drop(&a);
}

/* With COMPUTE_16F, alpha and beta are halves, as all three matrices are. */
Test(cublas, products_in_half) {
    struct buffer a = filled(4, CUDA_R_16F, 1), b = filled(4, CUDA_R_16F, 2), c = filled(4, CUDA_R_16F, 3),
                  d = filled(4, CUDA_R_16F, 3);
    half alpha = 0.5f, beta = 2.0f;
    float alpha_float = 0.5f, beta_float = 2.0f;
    cr_assert_eq(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, a.device, CUDA_R_16F, 2, b.device,
                              CUDA_R_16F, 2, &beta, c.device, CUDA_R_16F, 2, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT),
                 CUBLAS_STATUS_SUCCESS);
    cr_assert_eq(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha_float, a.device, CUDA_R_16F, 2, b.device,
                              CUDA_R_16F, 2, &beta_float, d.device, CUDA_R_16F, 2, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT),
                 CUBLAS_STATUS_SUCCESS);
    fetch(&c), fetch(&d);
    for (size_t i = 0; i < 4; i++) { cr_assert_eq(get(c.host, i, CUDA_R_16F), get(d.host, i, CUDA_R_16F)); }
    cr_assert_eq(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.device, CUDA_R_16BF, 1, b.device,
                              CUDA_R_16BF, 1, &beta, c.device, CUDA_R_16BF, 1, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT),
                 CUBLAS_STATUS_NOT_SUPPORTED);
    drop(&a), drop(&b), drop(&c), drop(&d);
}

/* In C++ it takes halves. */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const half *alpha, const half *A, int lda, const half *B, int ldb, const half *beta,
                           half *C, int ldc);

Test(cublas, hgemm_is_gemm_of_halves) {
    struct buffer a = filled(6, CUDA_R_16F, 1), b = filled(6, CUDA_R_16F, 2), c = filled(4, CUDA_R_16F, 3);
    half alpha = 0.5f, beta = 0.0f;
    cr_assert_eq(
        cublasHgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, a.device, 2, b.device, 3, &beta, c.device, 2),
        CUBLAS_STATUS_SUCCESS);
    fetch(&c);
    for (size_t i = 0; i < 4; i++) {
        float sum = 0;
        for (size_t k = 0; k < 3; k++) {
            sum += get(a.host, i % 2 + k * 2, CUDA_R_16F) * get(b.host, k + i / 2 * 3, CUDA_R_16F);
        }
        cr_expect_eq(get(c.host, i, CUDA_R_16F), 0.5f * sum);
    }
    drop(&a), drop(&b), drop(&c);
}

Test(cublas, matrix_times_vector) {
    const float alpha = 0.5f, beta = 2.0f;
    for (int transposed = 0; transposed < 2; transposed++) {
        int m = 3, n = 4, lda = 5, rows = transposed ? n : m, sums = transposed ? m : n, incx = 2, incy = 3;
        struct buffer a = filled(20, CUDA_R_32F, 1), x = filled(8, CUDA_R_32F, 2), y = filled(12, CUDA_R_32F, 3);
        float before[12];
        memcpy(before, y.host, sizeof before);
        cr_assert_eq(cublasSgemv(blas, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, &alpha, a.device, lda, x.device,
                                 incx, &beta, y.device, incy),
                     CUBLAS_STATUS_SUCCESS);
        fetch(&y);
        for (int i = 0; i < 12; i++) {
            float expected = before[i];
            for (int k = 0; k < sums && i % incy == 0 && i / incy < rows; k++) {
                size_t at = (size_t)(transposed ? k + i / incy * lda : i / incy + k * lda);
                expected = (k ? expected : beta * expected) +
                           alpha * get(a.host, at, CUDA_R_32F) * get(x.host, (size_t)(k * incx), CUDA_R_32F);
            }
            cr_expect_eq(get(y.host, (size_t)i, CUDA_R_32F), expected, "y[%d]", i);
        }
        drop(&a), drop(&x), drop(&y);
    }
    cr_expect_eq(cublasSgemv(blas, CUBLAS_OP_N, 1, 1, &alpha, NULL, 1, NULL, 0, &beta, NULL, 1),
                 CUBLAS_STATUS_INVALID_VALUE);
}

Test(cublas, vectors_and_matrices_are_copied) {
    float host[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0}, *device;
    cr_assert_eq(cudaMalloc((void **)&device, sizeof host), cudaSuccess);
    cr_assert_eq(cublasSetVector(6, sizeof *host, host, 1, device, 1), CUBLAS_STATUS_SUCCESS);
    cr_assert_eq(cublasGetVector(3, sizeof *host, device, 2, back, 1), CUBLAS_STATUS_SUCCESS);
    cr_assert(back[0] == 1 && back[1] == 3 && back[2] == 5 && back[3] == 0);
    cr_assert_eq(cublasSetMatrix(2, 2, sizeof *host, host + 2, 2, device, 3), CUBLAS_STATUS_SUCCESS);
    cr_assert_eq(cublasGetMatrix(3, 2, sizeof *host, device, 3, back, 3), CUBLAS_STATUS_SUCCESS);
    const float expected[6] = {3, 4, 3, 5, 6, 6};
    cr_assert_arr_eq(back, expected, sizeof back);
    cr_assert_eq(cublasSetVector(7, sizeof *host, host, 1, device, 1), CUBLAS_STATUS_MAPPING_ERROR);
    cr_assert_eq(cublasSetVector(1, sizeof *host, host, 0, device, 1), CUBLAS_STATUS_INVALID_VALUE);
    cudaFree(device);
}

Test(cublas, traffic_is_counted_apart) {
    struct buffer a = filled(6, CUDA_R_32F, 1), b = filled(12, CUDA_R_32F, 2), c = filled(8, CUDA_R_32F, 3);
    struct simt_cublas_traffic traffic;
    struct simt_counters counters;
    simt_counters_reset();
    simt_cublas_traffic_reset();
    product(a.device, b.device, c.device, 2, 4, 3, 2);
    simt_cublas_traffic_get(&traffic);
    simt_counters_get(&counters);
    cr_assert(traffic.calls == 1 && traffic.products == 1 && traffic.load_bytes == 18 * 4 &&
              traffic.store_bytes == 8 * 4 && traffic.operations == 2 * 2 * 4 * 3);
    cr_assert_eq(counters.global.load_requests, 0u);
    drop(&a), drop(&b), drop(&c);
}

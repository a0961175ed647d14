/* The backend's cuBLASLt: epilogues in every type, refusals, and products in a graph. */
#include <math.h>

#include "buffers.h"

static cublasLtHandle_t lt;

static void begin(void) {
    quiet();
    cr_assert_eq(cublasLtCreate(&lt), CUBLAS_STATUS_SUCCESS);
}
static void end(void) {
    cublasLtDestroy(lt);
}
TestSuite(cublas_lt, .init = begin, .fini = end, .timeout = 120);

static double gelu(double u) {
    return 0.5 * u * (1.0 + tanh(0.7978845608028654 * (u + 0.044715 * u * u * u)));
}

static double gelu_slope(double u) { /* by a difference */
    return (gelu(u + 1e-6) - gelu(u - 1e-6)) / 2e-6;
}

/* out = x weight^T, row-major. aux: (N, OC) with rows of aux_ld elements, or NULL. */
static cublasStatus_t linear(cudaDataType type, uint32_t epilogue, const void *bias, void *aux, int64_t aux_ld,
                             const void *weight, const void *x, void *out, int N, int C, int OC, cudaStream_t stream) {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t of_weight, of_x, of_out;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t heuristic;
    int32_t transposed = CUBLAS_OP_T;
    int found_algorithms;
    float one = 1.0f, zero = 0.0f;
    cr_assert_eq(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_ld, sizeof aux_ld);
    cublasLtMatrixLayoutCreate(&of_weight, type, (uint64_t)C, (uint64_t)OC, C);
    cublasLtMatrixLayoutCreate(&of_x, type, (uint64_t)C, (uint64_t)N, C);
    cublasLtMatrixLayoutCreate(&of_out, type, (uint64_t)OC, (uint64_t)N, OC);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(lt, desc, of_weight, of_x, of_out, of_out, preference, 1,
                                                           &heuristic, &found_algorithms);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmul(lt, desc, &one, weight, of_weight, x, of_x, &zero, out, of_out, out, of_out,
                                &heuristic.algo, NULL, 0, stream);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(of_weight), cublasLtMatrixLayoutDestroy(of_x), cublasLtMatrixLayoutDestroy(of_out);
    cublasLtMatmulDescDestroy(desc);
    return status;
}

static void check_linear(cudaDataType type, uint32_t epilogue, int N, int C, int OC) {
    struct buffer x = filled((size_t)(N * C), type, 1), weight = filled((size_t)(OC * C), type, 2);
    struct buffer bias = filled((size_t)OC, type, 3);
    struct buffer out = filled((size_t)(N * OC), type, 4);
    const int ld = OC + 3; /* of aux: not out's */
    struct buffer aux = filled((size_t)(N * ld), type, 5), aux_before = filled((size_t)(N * ld), type, 5);
    const bool stores = (epilogue & CUBLASLT_EPILOGUE_GELU_AUX) == CUBLASLT_EPILOGUE_GELU_AUX;
    cr_assert_eq(
        linear(type, epilogue, bias.device, aux.device, ld, weight.device, x.device, out.device, N, C, OC, NULL),
        CUBLAS_STATUS_SUCCESS);
    fetch(&out);
    fetch(&aux);
    for (int n = 0; n < N; n++) {
        for (int o = 0; o < OC; o++) {
            double sum = epilogue & CUBLASLT_EPILOGUE_BIAS ? (double)get(bias.host, (size_t)o, type) : 0.0;
            for (int c = 0; c < C; c++) {
                sum += (double)get(x.host, (size_t)(n * C + c), type) *
                       (double)get(weight.host, (size_t)(o * C + c), type);
            }
            const double relative = type == CUDA_R_32F ? 1e-6 : type == CUDA_R_16F ? 5e-4 : 4e-3;
            const double kept = (double)get(aux.host, (size_t)(n * ld + o), type);
            const double wanted = stores ? sum : (double)get(aux_before.host, (size_t)(n * ld + o), type);
            cr_assert(fabs(kept - wanted) <= (stores ? relative * fabs(sum) + 1e-6 : 0.0), "aux (%d, %d): %g, not %g",
                      n, o, kept, wanted);
            if (epilogue & CUBLASLT_EPILOGUE_GELU) { sum = gelu(sum); }
            if (epilogue == CUBLASLT_EPILOGUE_DGELU) { sum *= gelu_slope(kept); }
            double error = fabs((double)get(out.host, (size_t)(n * OC + o), type) - sum);
            cr_assert(error <= relative * fabs(sum) + 1e-6, "(%d, %d) is off by %g", n, o, error);
        }
    }
    cr_assert_eq(simt_finding_count(), 0u);
    drop(&x), drop(&weight), drop(&bias), drop(&out), drop(&aux), drop(&aux_before);
}

Test(cublas_lt, epilogues_of_every_type) {
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
    static const uint32_t epilogues[] = {CUBLASLT_EPILOGUE_DEFAULT,      CUBLASLT_EPILOGUE_BIAS,
                                         CUBLASLT_EPILOGUE_GELU,         CUBLASLT_EPILOGUE_GELU_BIAS,
                                         CUBLASLT_EPILOGUE_GELU_AUX,     CUBLASLT_EPILOGUE_DGELU,
                                         CUBLASLT_EPILOGUE_GELU_AUX_BIAS};
    for (int type = 0; type < 3; type++) {
        for (int epilogue = 0; epilogue < (int)(sizeof epilogues / sizeof *epilogues); epilogue++) {
            check_linear(types[type], epilogues[epilogue], 1, 24, 19);
            check_linear(types[type], epilogues[epilogue], 7, 24, 19);
            check_linear(types[type], epilogues[epilogue], 9, 24, 19);
        }
    }
}

/* Large enough for several cores: rows that are not a multiple of a core's part, columns not a multiple of a vector. */
Test(cublas_lt, few_columns_of_a_large_matrix) {
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
    for (int type = 0; type < 3; type++) {
        check_linear(types[type], CUBLASLT_EPILOGUE_BIAS, 1, 301, 1003);
        check_linear(types[type], CUBLASLT_EPILOGUE_DEFAULT, 3, 301, 1003);
        check_linear(types[type], CUBLASLT_EPILOGUE_BIAS, 8, 7, 20001);
    }
}

static cublasLtMatrixLayout_t batched(cudaDataType type, int rows, int columns, int32_t batch) {
    cublasLtMatrixLayout_t layout;
    int64_t stride = (int64_t)rows * columns;
    cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)rows, (uint64_t)columns, rows);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    return layout;
}

/* d (M, N) = a (M, K) b (K, N), repeated: the status, and the content of d. */
static cublasStatus_t run_batch(cudaDataType type, int32_t batch, const void *a, const void *b, void *d, int M, int N,
                                int K) {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t of_a = batched(type, M, K, batch), of_b = batched(type, K, N, batch),
                           of_d = batched(type, M, N, batch);
    float one = 1.0f, zero = 0.0f;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasStatus_t status = cublasLtMatmul(lt, desc, &one, a, of_a, b, of_b, &zero, d, of_d, d, of_d, NULL, NULL, 0, 0);
    cublasLtMatrixLayoutDestroy(of_a), cublasLtMatrixLayoutDestroy(of_b), cublasLtMatrixLayoutDestroy(of_d);
    cublasLtMatmulDescDestroy(desc);
    return status;
}

Test(cublas_lt, a_batch_of_products) {
    enum { BATCH = 3, M = 4, N = 5, K = 6 };
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
    for (int i = 0; i < 3; i++) {
        struct buffer a = filled(BATCH * M * K, types[i], 1), b = filled(BATCH * K * N, types[i], 2);
        struct buffer d = filled(BATCH * M * N, types[i], 3);
        cr_assert_eq(run_batch(types[i], BATCH, a.device, b.device, d.device, M, N, K), CUBLAS_STATUS_SUCCESS);
        fetch(&d);
        for (int at = 0; at < BATCH * M * N; at++) {
            const int row = at % M, column = at / M % N, which = at / M / N;
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += get(a.host, (size_t)((which * K + k) * M + row), types[i]) *
                       get(b.host, (size_t)((which * N + column) * K + k), types[i]);
            }
            float got = get(d.host, (size_t)at, types[i]);
            cr_assert(fabsf(got - sum) <= 0.01f * fabsf(sum), "product %d, (%d, %d): %g, not %g", which, row, column,
                      (double)got, (double)sum);
        }
        drop(&a), drop(&b), drop(&d);
    }
    struct buffer much = filled(1 << 16, CUDA_R_32F, 4);
    cr_assert_eq(run_batch(CUDA_R_32F, 65536, much.device, much.device, much.device, 1, 1, 1),
                 CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(simt_finding_count(), 0u);
    drop(&much);
}

Test(cublas_lt, what_lt_has_not_is_a_status) {
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    uint32_t relu = 2;
    int32_t order = CUBLASLT_ORDER_ROW;
    cr_assert_eq(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &relu, sizeof relu),
                 CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &relu, 1),
                 CUBLAS_STATUS_INVALID_VALUE);
    cublasLtMatrixLayout_t layout;
    cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 2, 2, 2);
    cr_assert_eq(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order),
                 CUBLAS_STATUS_NOT_SUPPORTED);
    cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
}

Test(cublas_lt, a_captured_product_runs_with_its_graph) {
    enum { N = 2, C = 3, OC = 4 };
    struct buffer x = filled(N * C, CUDA_R_32F, 1), weight = filled(OC * C, CUDA_R_32F, 2);
    struct buffer out = filled(N * OC, CUDA_R_32F, 3), before = filled(N * OC, CUDA_R_32F, 3);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cr_assert_eq(linear(CUDA_R_32F, CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, 0, weight.device, x.device, out.device, N, C,
                        OC, stream),
                 CUBLAS_STATUS_SUCCESS);
    cr_assert_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    fetch(&out);
    cr_assert_eq(memcmp(out.host, before.host, N * OC * sizeof(float)), 0); /* recorded, not executed */
    cr_assert_eq(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    cudaGraphDestroy(graph);
    cr_assert_eq(cudaGraphLaunch(executable, stream), cudaSuccess);
    fetch(&out);
    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += ((float *)x.host)[c] * ((float *)weight.host)[c]; }
    cr_assert_eq(((float *)out.host)[0], sum);
    cudaGraphExecDestroy(executable);
    cudaStreamDestroy(stream);
    drop(&x), drop(&weight), drop(&out), drop(&before);
}

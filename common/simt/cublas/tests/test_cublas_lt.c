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

/* ---- 8 bits ---- */

/* A row-major x (N, C) times a weight (OC, C), both of codes. */
struct codes {
    cudaDataType type, to;
    cublasOperation_t op_a;
    uint32_t epilogue;
    const void *bias;
    const float *scales[2]; /* of the weight, of x; on the device */
};

static cublasStatus_t multiply_codes(const struct codes *codes, const void *weight, const void *x, void *out, int N,
                                     int C, int OC) {
    const bool whole = codes->type == CUDA_R_8I, turned = codes->op_a == CUBLAS_OP_T;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t of_weight, of_x, of_out;
    const int32_t op = codes->op_a;
    const union {
        int32_t whole;
        float real;
    } one = {.whole = whole ? 1 : 0x3f800000}, zero = {0};
    cublasLtMatmulDescCreate(&desc, whole ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F, whole ? CUDA_R_32I : CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &codes->epilogue, sizeof codes->epilogue);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &codes->bias, sizeof codes->bias);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &codes->scales[0], sizeof(float *));
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &codes->scales[1], sizeof(float *));
    cublasLtMatrixLayoutCreate(&of_weight, codes->type, (uint64_t)(turned ? C : OC), (uint64_t)(turned ? OC : C),
                               turned ? C : OC);
    cublasLtMatrixLayoutCreate(&of_x, codes->type, (uint64_t)C, (uint64_t)N, C);
    cublasLtMatrixLayoutCreate(&of_out, codes->to, (uint64_t)OC, (uint64_t)N, OC);
    cublasStatus_t status = cublasLtMatmul(lt, desc, &one, weight, of_weight, x, of_x, &zero, out, of_out, out, of_out,
                                           NULL, NULL, 0, NULL);
    cublasLtMatrixLayoutDestroy(of_weight), cublasLtMatrixLayoutDestroy(of_x), cublasLtMatrixLayoutDestroy(of_out);
    cublasLtMatmulDescDestroy(desc);
    return status;
}

/* Whole numbers that no float holds: the largest codes, over several parts of k. */
Test(cublas_lt, int8_is_exact_in_whole_numbers) {
    enum { N = 3, C = 2500, OC = 8 };
    int8_t *x = malloc(N * C), *weight = malloc(OC * C);
    int32_t out[N * OC];
    void *on_x, *on_weight, *on_out;
    for (int i = 0; i < N * C; i++) { x[i] = i < C ? -128 : (int8_t)(i * 37 % 255 - 127); }
    for (int i = 0; i < OC * C; i++) { weight[i] = i < C ? -128 : i < 2 * C ? 127 : (int8_t)(i * 101 % 253 - 126); }
    cudaMalloc(&on_x, N * C), cudaMalloc(&on_weight, OC * C), cudaMalloc(&on_out, sizeof out);
    cudaMemcpy(on_x, x, N * C, cudaMemcpyHostToDevice), cudaMemcpy(on_weight, weight, OC * C, cudaMemcpyHostToDevice);
    struct codes codes = {CUDA_R_8I, CUDA_R_32I, CUBLAS_OP_T, CUBLASLT_EPILOGUE_DEFAULT, NULL, {NULL, NULL}};
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, on_out, N, C, OC), CUBLAS_STATUS_SUCCESS);
    cudaMemcpy(out, on_out, sizeof out, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N * OC; i++) {
        int32_t sum = 0;
        for (int c = 0; c < C; c++) { sum += x[i / OC * C + c] * weight[i % OC * C + c]; }
        cr_assert_eq(out[i], sum, "%d: %d, not %d", i, out[i], sum);
    }
    cr_assert_eq(out[0], 128 * 128 * C);
    cr_assert_eq(simt_finding_count(), 0u);
    codes.to = CUDA_R_32F;
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, on_out, N, C, OC), CUBLAS_STATUS_NOT_SUPPORTED);
    codes.to = CUDA_R_32I, codes.op_a = CUBLAS_OP_N;
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, on_out, N, C, OC), CUBLAS_STATUS_NOT_SUPPORTED);
    codes.op_a = CUBLAS_OP_T;
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, on_out, N, C - 2, OC), CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, on_out, N, C, OC - 2), CUBLAS_STATUS_NOT_SUPPORTED);
    free(x), free(weight), cudaFree(on_x), cudaFree(on_weight), cudaFree(on_out);
}

static double value_of_e4m3(int code) {
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return code & 0x80 ? -magnitude : magnitude;
}

/* The codes 0 to 0x7e and their negatives, against those of x: 1, -2, 0.5, 0, ... */
static void check_fp8(cudaDataType to, uint32_t epilogue, bool has_scales) {
    enum { N = 5, C = 32, OC = 48 };
    uint8_t x[N * C], weight[OC * C];
    const float scales[2] = {0.25f, 3.0f};
    struct buffer bias = filled(OC, to, 3), out = filled(N * OC, to, 4);
    void *on_x, *on_weight;
    float *on_scales;
    for (int i = 0; i < N * C; i++) { x[i] = (uint8_t[]){0x38, 0xc0, 0x30, 0x00, 0x01}[i * 7 % 5]; }
    for (int i = 0; i < OC * C; i++) { weight[i] = (uint8_t)(i % 127 | (i / 127 % 2) << 7); }
    cudaMalloc(&on_x, sizeof x), cudaMalloc(&on_weight, sizeof weight), cudaMalloc((void **)&on_scales, sizeof scales);
    cudaMemcpy(on_x, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(on_weight, weight, sizeof weight, cudaMemcpyHostToDevice);
    cudaMemcpy(on_scales, scales, sizeof scales, cudaMemcpyHostToDevice);
    const bool has_bias = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0, has_gelu = (epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
    struct codes codes = {CUDA_R_8F_E4M3, to, CUBLAS_OP_T, epilogue, has_bias ? bias.device : NULL, {NULL, NULL}};
    if (has_scales) { codes.scales[0] = on_scales, codes.scales[1] = on_scales + 1; }
    cr_assert_eq(multiply_codes(&codes, on_weight, on_x, out.device, N, C, OC), CUBLAS_STATUS_SUCCESS);
    fetch(&out);
    for (int i = 0; i < N * OC; i++) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < C; c++) {
            const double term = value_of_e4m3(x[i / OC * C + c]) * value_of_e4m3(weight[i % OC * C + c]);
            sum += term, size += fabs(term);
        }
        if (has_scales) { sum *= 0.75, size *= 0.75; }
        if (has_bias) { sum += (double)get(bias.host, (size_t)(i % OC), to); }
        if (has_gelu) { sum = gelu(sum); }
        const double relative = to == CUDA_R_32F ? 0.0 : to == CUDA_R_16F ? 5e-4 : 4e-3;
        const double error = fabs((double)get(out.host, (size_t)i, to) - sum);
        cr_assert(error <= relative * fabs(sum) + 1e-6 * (size + 1.0), "%d is off by %g", i, error);
    }
    cr_assert_eq(simt_finding_count(), 0u);
    drop(&bias), drop(&out), cudaFree(on_x), cudaFree(on_weight), cudaFree(on_scales);
}

Test(cublas_lt, fp8_has_scales_and_epilogues) {
    static const cudaDataType types[] = {CUDA_R_16F, CUDA_R_16BF};
    for (int i = 0; i < 4; i++) {
        check_fp8(types[i % 2], CUBLASLT_EPILOGUE_BIAS, i >= 2);
        check_fp8(types[i % 2], CUBLASLT_EPILOGUE_GELU_BIAS, i >= 2);
        check_fp8(CUDA_R_32F, CUBLASLT_EPILOGUE_DEFAULT, i >= 2);
    }
}

Test(cublas_lt, fp8_refuses_what_cublas_lt_does) {
    struct codes codes = {CUDA_R_8F_E4M3, CUDA_R_16F, CUBLAS_OP_T, CUBLASLT_EPILOGUE_DEFAULT, NULL, {NULL, NULL}};
    void *memory;
    cudaMalloc(&memory, 1 << 16), cudaMemset(memory, 0, 1 << 16);
    cr_assert_eq(multiply_codes(&codes, memory, memory, memory, 4, 24, 16), CUBLAS_STATUS_NOT_SUPPORTED);
    cr_assert_eq(multiply_codes(&codes, memory, memory, memory, 4, 16, 24), CUBLAS_STATUS_NOT_SUPPORTED);
    codes.op_a = CUBLAS_OP_N;
    cr_assert_eq(multiply_codes(&codes, memory, memory, memory, 4, 16, 16), CUBLAS_STATUS_NOT_SUPPORTED);
    codes.op_a = CUBLAS_OP_T, codes.to = CUDA_R_32F, codes.epilogue = CUBLASLT_EPILOGUE_BIAS, codes.bias = memory;
    cr_assert_eq(multiply_codes(&codes, memory, memory, memory, 4, 16, 16), CUBLAS_STATUS_NOT_SUPPORTED);
    codes.type = CUDA_R_16F, codes.to = CUDA_R_16F, codes.scales[0] = memory; /* scales are of 8 bits alone */
    cr_assert_eq(multiply_codes(&codes, memory, memory, memory, 4, 16, 16), CUBLAS_STATUS_NOT_SUPPORTED);
    cudaFree(memory);
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

// matmul.cu — cuBLASLt's descriptors and algorithm for each shape, made once (matmul.cuh)
//
// cuBLASLt proposes algorithms in the order that it expects of their times. In training the first one is often 5 to 20 % slower
// than the fastest: with few channels a product ends with a large result, and kernels that store one tile while they compute
// the next are further down its list. A step of 124M is 4 % shorter with the fastest, and a prompt of fp8 with 774M 6 %.
#include "gpt2/model/matmul.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace {
struct plan {
    matmul_shape shape;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
};

bool same(const matmul_shape &x, const matmul_shape &y) {
    return memcmp(&x, &y, sizeof x) == 0; // ints only: there is no padding
}

void drop(plan &p) {
    if (p.product) { cublasLtMatmulDescDestroy(p.product); }
    if (p.a) { cublasLtMatrixLayoutDestroy(p.a); }
    if (p.b) { cublasLtMatrixLayoutDestroy(p.b); }
    if (p.d) { cublasLtMatrixLayoutDestroy(p.d); }
}

int set(plan &p, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t size) {
    TRY_BLAS(cublasLtMatmulDescSetAttribute(p.product, attribute, value, size));
    return 0;
}

bool is_fp8(const matmul_shape &shape) {
    return shape.in == CUDA_R_8F_E4M3;
}

// Tensor cores of Hopper add products of fp8 with some 14 bits. With 0, cuBLASLt adds their short sums in fp32, and a prompt of
// 774M takes 2 % more time.
constexpr int8_t fast_sums = 1;

bool is_int8(const matmul_shape &shape) {
    return shape.in == CUDA_R_8I;
}

// The layout of a matrix as stored, before its transposition.
int layout(cublasLtMatrixLayout_t *made, cudaDataType type, int transposed, int rows, int columns, int ld, int batch) {
    uint64_t stored_rows = (uint64_t)(transposed ? columns : rows);
    uint64_t stored_columns = (uint64_t)(transposed ? rows : columns);
    TRY_BLAS(cublasLtMatrixLayoutCreate(made, type, stored_rows, stored_columns, ld));
    if (batch == 1) { return 0; }
    int32_t count = batch;
    int64_t stride = ld * (int64_t)stored_columns;
    TRY_BLAS(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    TRY_BLAS(
        cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    return 0;
}

// Where the matrices are: d = op(a) op(b) + bias + beta d. aux: what GELU is applied to, or its derivative.
struct operands {
    void *d;
    const void *a, *b, *bias = nullptr;
    float beta = 0.0f;
    const void *aux = nullptr;
    const float *a_scale = nullptr, *b_scale = nullptr; // of fp8
};

// The pointers that a descriptor has.
int point(plan &p, const operands &of) {
    if (of.bias != nullptr) { TRY(set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &of.bias, sizeof of.bias)); }
    if (of.aux != nullptr) { TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &of.aux, sizeof of.aux)); }
    if (!is_fp8(p.shape)) { return 0; }
    TRY(set(p, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of.a_scale, sizeof of.a_scale));
    return set(p, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &of.b_scale, sizeof of.b_scale);
}

// What the trials of algorithms allocate.
struct trials {
    cudaEvent_t begin = nullptr, end = nullptr;
    void *d = nullptr;

    ~trials() {
        if (begin) { cudaEventDestroy(begin); }
        if (end) { cudaEventDestroy(end); }
        if (d) { cudaFree(d); }
    }
};

int multiply(plan &p, const gpt2_device &device, const operands &of, const cublasLtMatmulAlgo_t &algorithm) {
    const float one = 1.0f;
    const int whole_one = 1, whole_zero = 0; // int8: beta is 0
    const void *alpha = &one, *beta = &of.beta;
    if (is_int8(p.shape)) { alpha = &whole_one, beta = &whole_zero; }
    TRY_BLAS(cublasLtMatmul(device.lt, p.product, alpha, of.a, p.a, of.b, p.b, beta, of.d, p.d, of.d, p.d, &algorithm,
                            device.workspace, device.workspace_bytes, device.stream));
    return 0;
}

// Makes the fastest of some algorithms the plan's: the first one, which it has, unless another is clearly faster.
int choose_fastest(plan &p, const gpt2_device &device, operands of, const cublasLtMatmulHeuristicResult_t *found,
                   int count) {
    constexpr int rounds = 4; // the first warms up
    constexpr float clearly = 0.98f;
    trials own;
    std::vector<float> least((size_t)count, INFINITY);
    if (of.beta != 0.0f) { // a trial must not add to the result
        const size_t bytes = (size_t)p.shape.ldd * (size_t)p.shape.n * (p.shape.out == CUDA_R_32F ? 4 : 2);
        if (cudaMalloc(&own.d, bytes) != cudaSuccess) { // the memory is full: the first algorithm needs none
            cudaGetLastError();                         // clears the error, which the next launch would report
            return 0;
        }
        TRY(cudaMemsetAsync(own.d, 0, bytes, device.stream));
        of.d = own.d;
    }
    TRY(cudaEventCreate(&own.begin));
    TRY(cudaEventCreate(&own.end));
    for (int i = 0; i < rounds * count; i++) {
        float time = 0.0f, &best = least[(size_t)(i % count)];
        TRY(cudaEventRecord(own.begin, device.stream));
        if (multiply(p, device, of, found[i % count].algo) != 0) { continue; } // never the fastest
        TRY(cudaEventRecord(own.end, device.stream));
        TRY(cudaEventSynchronize(own.end));
        TRY(cudaEventElapsedTime(&time, own.begin, own.end));
        if (i >= count) { best = std::min(best, time); }
    }
    const auto fastest = std::min_element(least.begin(), least.end());
    if (*fastest < clearly * least[0]) { p.algorithm = found[fastest - least.begin()].algo; }
    return 0;
}

// Is a trial of several algorithms worth its time? Small products, and those of tests, keep the choice that every run makes.
bool worth_trials(const matmul_shape &s) {
    constexpr double operations = 1e10; // some 15 us on an H100
    return s.in != CUDA_R_32F && 2.0 * s.m * s.n * s.k * s.batch >= operations;
}

int choose(plan &p, const gpt2_device &device, const operands &of, bool timed) {
    constexpr int most = 8;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[most];
    int count = 0;
    TRY_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    int status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &device.workspace_bytes, sizeof device.workspace_bytes);
    if (status == 0) {
        status = cublasLtMatmulAlgoGetHeuristic(device.lt, p.product, p.a, p.b, p.d, p.d, preference,
                                                timed && worth_trials(p.shape) ? most : 1, found, &count);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    TRY_BLAS(status);
    if (count == 0) { return BLAS_ERROR + CUBLAS_STATUS_NOT_SUPPORTED; }
    p.algorithm = found[0].algo;
    return count > 1 ? choose_fastest(p, device, of, found, count) : 0;
}

// The descriptors and the algorithm of one shape. On failure p holds those made so far, for drop().
int make(plan &p, const gpt2_device &device, const operands &of, std::vector<matmul_choice> &choices, bool timed) {
    const matmul_shape &s = p.shape;
    int32_t op_a = s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, op_b = s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint32_t epilogue = (uint32_t)s.epilogue;
    const int64_t aux_ld = s.ldd;
    TRY_BLAS(cublasLtMatmulDescCreate(&p.product,
                                      is_int8(s)  ? CUBLAS_COMPUTE_32I
                                      : is_fp8(s) ? CUBLAS_COMPUTE_32F
                                                  : device.compute,
                                      is_int8(s) ? CUDA_R_32I : CUDA_R_32F));
    TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a));
    TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b));
    TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (is_fp8(s)) { TRY(set(p, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast_sums, sizeof fast_sums)); }
    TRY(point(p, of));
    if (of.aux != nullptr) { TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_ld, sizeof aux_ld)); }
    TRY(layout(&p.a, s.in, s.transpose_a, s.m, s.k, s.lda, s.batch));
    TRY(layout(&p.b, s.in, s.transpose_b, s.k, s.n, s.ldb, s.batch));
    TRY(layout(&p.d, s.out, 0, s.m, s.n, s.ldd, s.batch));
    for (const matmul_choice &choice : choices) {
        if (same(choice.shape, s)) {
            p.algorithm = choice.algorithm;
            return 0;
        }
    }
    TRY(choose(p, device, of, timed || is_fp8(s)));
    choices.push_back({s, p.algorithm});
    return 0;
}
} // namespace

struct matmul_plans {
    std::vector<plan> known;
    std::vector<matmul_choice> choices;
    bool timed = false;
};

matmul_plans *matmul_plans_open() {
    return new (std::nothrow) matmul_plans;
}

void matmul_plans_close(matmul_plans *plans) {
    if (plans == nullptr) { return; }
    for (plan &p : plans->known) { drop(p); }
    delete plans;
}

std::vector<matmul_choice> matmul_plans_choices(const matmul_plans *plans) {
    return plans->choices;
}

void matmul_plans_prefer(matmul_plans *plans, const matmul_choice *choices, size_t count) {
    plans->choices.assign(choices, choices + count);
}

void matmul_plans_time(matmul_plans *plans, bool timed) {
    plans->timed = timed;
}

static int run(gpt2_device &device, const matmul_shape &shape, const operands &of) {
    plan *p = nullptr;
    for (plan &known : device.plans->known) {
        if (same(known.shape, shape)) { p = &known; }
    }
    if (p == nullptr) {
        plan made = {};
        made.shape = shape;
        int error = make(made, device, of, device.plans->choices, device.plans->timed);
        if (error != 0) {
            drop(made);
            return error;
        }
        device.plans->known.push_back(made);
        p = &device.plans->known.back();
    }
    TRY(point(*p, of));
    return multiply(*p, device, of, p->algorithm);
}

int matmul_int8(gpt2_device &device, int *sums, const uint8_t *x, const uint8_t *weight, int N, int C, int OC) {
    return run(device, {CUDA_R_8I, CUDA_R_32I, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_DEFAULT, 1},
               {sums, weight, x});
}

template <class T>
int matmul_fp8(gpt2_device &device, T *out, const uint8_t *x, const uint8_t *weight, const T *bias, const float *input,
               const float *scale, bool gelu, int N, int C, int OC) {
    const int epilogue = gelu              ? CUBLASLT_EPILOGUE_GELU_BIAS
                         : bias != nullptr ? CUBLASLT_EPILOGUE_BIAS
                                           : CUBLASLT_EPILOGUE_DEFAULT;
    return run(device, {CUDA_R_8F_E4M3, type_of<T>::cuda, 1, 0, OC, N, C, C, C, OC, epilogue, 1},
               {out, weight, x, bias, 0.0f, nullptr, scale, input});
}

template <class Out, class T>
int matmul(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC, int ld) {
    const int epilogue = bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    return run(device, {type_of<T>::cuda, type_of<Out>::cuda, 1, 0, OC, N, C, C, C, ld, epilogue, 1},
               {out, weight, x, bias});
}

template <class T>
int matmul_gelu(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_GELU_BIAS, 1}, {out, weight, x, bias});
}

template <class T>
int matmul_add(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_BIAS, 1}, {out, weight, x, bias, 1.0f});
}

template <class T>
int matmul_gelu_keep(gpt2_device &device, T *out, T *before, const T *x, const T *weight, const T *bias, int N, int C,
                     int OC) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 1},
               {out, weight, x, bias, 0.0f, before});
}

// dx^T (C, N) = weight^T (C, OC) dout^T (OC, N): neither is transposed.
template <class T>
int matmul_dx(gpt2_device &device, T *dx, const T *dout, const T *weight, int N, int C, int OC, int ld) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 0, 0, C, N, OC, C, ld, C, CUBLASLT_EPILOGUE_DEFAULT, 1}, {dx, weight, dout});
}

template <class T>
int matmul_dx_gelu(gpt2_device &device, T *dx, const T *before, const T *dout, const T *weight, int N, int C, int OC) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 0, 0, C, N, OC, C, OC, C, CUBLASLT_EPILOGUE_DGELU, 1},
               {dx, weight, dout, nullptr, 0.0f, before});
}

// dweight^T (C, OC) += x^T (C, N) dout (N, OC)
template <class T>
int matmul_dweight(gpt2_device &device, float *dweight, const T *dout, const T *x, int N, int C, int OC, int ld,
                   bool adds) {
    return run(device, {type_of<T>::cuda, CUDA_R_32F, 0, 1, C, OC, N, C, ld, C, CUBLASLT_EPILOGUE_DEFAULT, 1},
               {dweight, x, dout, nullptr, adds ? 1.0f : 0.0f});
}

template <class T>
int matmul_batch(gpt2_device &device, T *out, const T *a, const T *b, bool transpose_a, bool transpose_b, int m, int n,
                 int k, int count) {
    const cudaDataType type = type_of<T>::cuda;
    const int lda = transpose_a ? k : m, ldb = transpose_b ? n : k;
    return run(device, {type, type, transpose_a, transpose_b, m, n, k, lda, ldb, m, CUBLASLT_EPILOGUE_DEFAULT, count},
               {out, a, b});
}

template int matmul(gpt2_device &, float *, const __half *, const __half *, const __half *, int, int, int, int);
template int matmul(gpt2_device &, float *, const __nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *, int,
                    int, int, int);
#define INSTANTIATE(T)                                                                                      \
    template int matmul(gpt2_device &, T *, const T *, const T *, const T *, int, int, int, int);           \
    template int matmul_fp8(gpt2_device &, T *, const uint8_t *, const uint8_t *, const T *, const float *, \
                            const float *, bool, int, int, int);                                            \
    template int matmul_gelu(gpt2_device &, T *, const T *, const T *, const T *, int, int, int);           \
    template int matmul_add(gpt2_device &, T *, const T *, const T *, const T *, int, int, int);            \
    template int matmul_gelu_keep(gpt2_device &, T *, T *, const T *, const T *, const T *, int, int, int); \
    template int matmul_dx_gelu(gpt2_device &, T *, const T *, const T *, const T *, int, int, int);        \
    template int matmul_dx(gpt2_device &, T *, const T *, const T *, int, int, int, int);                   \
    template int matmul_dweight(gpt2_device &, float *, const T *, const T *, int, int, int, int, bool);    \
    template int matmul_batch(gpt2_device &, T *, const T *, const T *, bool, bool, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

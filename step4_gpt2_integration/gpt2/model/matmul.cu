// matmul.cu — cuBLASLt's descriptors and algorithm for each shape, made once (matmul.cuh)
#include "gpt2/model/matmul.cuh"

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

// What a call adds to its matrices: device pointers, null where it has none.
struct operands {
    const void *bias;
    const float *a_scale, *b_scale; // of fp8
};

int set_pointers(plan &p, const operands &o) {
    if (o.bias != nullptr) { TRY(set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof o.bias)); }
    if (!is_fp8(p.shape)) { return 0; }
    TRY(set(p, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &o.a_scale, sizeof o.a_scale));
    return set(p, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &o.b_scale, sizeof o.b_scale);
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

int choose(plan &p, const gpt2_device &device) {
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    TRY_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    int status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &device.workspace_bytes, sizeof device.workspace_bytes);
    if (status == 0) {
        status =
            cublasLtMatmulAlgoGetHeuristic(device.lt, p.product, p.a, p.b, p.d, p.d, preference, 1, &found, &count);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    TRY_BLAS(status);
    if (count == 0) { return BLAS_ERROR + CUBLAS_STATUS_NOT_SUPPORTED; }
    p.algorithm = found.algo;
    return 0;
}

// The descriptors and the algorithm of one shape. On failure p holds those made so far, for drop().
int make(plan &p, const gpt2_device &device, const operands &o, std::vector<matmul_choice> &choices) {
    const matmul_shape &s = p.shape;
    int32_t op_a = s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, op_b = s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint32_t epilogue = (uint32_t)s.epilogue;
    const bool whole = s.in == CUDA_R_8I;
    TRY_BLAS(cublasLtMatmulDescCreate(&p.product,
                                      whole       ? CUBLAS_COMPUTE_32I
                                      : is_fp8(s) ? CUBLAS_COMPUTE_32F
                                                  : device.compute,
                                      whole ? CUDA_R_32I : CUDA_R_32F));
    TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a));
    TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b));
    TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TRY(set_pointers(p, o));
    TRY(layout(&p.a, s.in, s.transpose_a, s.m, s.k, s.lda, s.batch));
    TRY(layout(&p.b, s.in, s.transpose_b, s.k, s.n, s.ldb, s.batch));
    TRY(layout(&p.d, s.out, 0, s.m, s.n, s.ldd, s.batch));
    for (const matmul_choice &choice : choices) {
        if (same(choice.shape, s)) {
            p.algorithm = choice.algorithm;
            return 0;
        }
    }
    TRY(choose(p, device));
    choices.push_back({s, p.algorithm});
    return 0;
}
} // namespace

struct matmul_plans {
    std::vector<plan> known;
    std::vector<matmul_choice> choices;
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

// d = op(a) op(b) + bias + beta d
static int run(gpt2_device &device, const matmul_shape &shape, void *d, const void *a, const void *b, const operands &o,
               float beta) {
    const float one = 1.0f;
    const int whole_one = 1, whole_zero = 0; // int8: beta is 0
    const bool whole = shape.in == CUDA_R_8I;
    plan *p = nullptr;
    for (plan &known : device.plans->known) {
        if (same(known.shape, shape)) { p = &known; }
    }
    if (p == nullptr) {
        plan made = {};
        made.shape = shape;
        int error = make(made, device, o, device.plans->choices);
        if (error != 0) {
            drop(made);
            return error;
        }
        device.plans->known.push_back(made);
        p = &device.plans->known.back();
    }
    TRY(set_pointers(*p, o));
    const void *const alpha = whole ? (const void *)&whole_one : &one;
    const void *const factor = whole ? (const void *)&whole_zero : &beta;
    TRY_BLAS(cublasLtMatmul(device.lt, p->product, alpha, a, p->a, b, p->b, factor, d, p->d, d, p->d, &p->algorithm,
                            device.workspace, device.workspace_bytes, device.stream));
    return 0;
}

static int run(gpt2_device &device, const matmul_shape &shape, void *d, const void *a, const void *b, const void *bias,
               float beta) {
    return run(device, shape, d, a, b, operands{bias, nullptr, nullptr}, beta);
}

int matmul_int8(gpt2_device &device, int *sums, const uint8_t *x, const uint8_t *weight, int N, int C, int OC) {
    return run(device, {CUDA_R_8I, CUDA_R_32I, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_DEFAULT, 1}, sums, weight, x,
               operands{}, 0.0f);
}

template <class T>
int matmul_fp8(gpt2_device &device, T *out, const uint8_t *x, const uint8_t *weight, const T *bias, const float *input,
               const float *scale, bool gelu, int N, int C, int OC) {
    const int epilogue = gelu              ? CUBLASLT_EPILOGUE_GELU_BIAS
                         : bias != nullptr ? CUBLASLT_EPILOGUE_BIAS
                                           : CUBLASLT_EPILOGUE_DEFAULT;
    return run(device, {CUDA_R_8F_E4M3, type_of<T>::cuda, 1, 0, OC, N, C, C, C, OC, epilogue, 1}, out, weight, x,
               operands{bias, scale, input}, 0.0f);
}

template <class Out, class T>
int matmul(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC, int ld) {
    const int epilogue = bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    return run(device, {type_of<T>::cuda, type_of<Out>::cuda, 1, 0, OC, N, C, C, C, ld, epilogue, 1}, out, weight, x,
               bias, 0.0f);
}

template <class T>
int matmul_gelu(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 1, 0, OC, N, C, C, C, OC, CUBLASLT_EPILOGUE_GELU_BIAS, 1}, out, weight, x, bias,
               0.0f);
}

// dx^T (C, N) = weight^T (C, OC) dout^T (OC, N): neither is transposed.
template <class T>
int matmul_dx(gpt2_device &device, T *dx, const T *dout, const T *weight, int N, int C, int OC, int ld) {
    const cudaDataType type = type_of<T>::cuda;
    return run(device, {type, type, 0, 0, C, N, OC, C, ld, C, CUBLASLT_EPILOGUE_DEFAULT, 1}, dx, weight, dout, nullptr,
               0.0f);
}

// dweight^T (C, OC) += x^T (C, N) dout (N, OC)
template <class T>
int matmul_dweight(gpt2_device &device, float *dweight, const T *dout, const T *x, int N, int C, int OC, int ld) {
    return run(device, {type_of<T>::cuda, CUDA_R_32F, 0, 1, C, OC, N, C, ld, C, CUBLASLT_EPILOGUE_DEFAULT, 1}, dweight,
               x, dout, nullptr, 1.0f);
}

template <class T>
int matmul_batch(gpt2_device &device, T *out, const T *a, const T *b, bool transpose_a, bool transpose_b, int m, int n,
                 int k, int count) {
    const cudaDataType type = type_of<T>::cuda;
    const int lda = transpose_a ? k : m, ldb = transpose_b ? n : k;
    return run(device, {type, type, transpose_a, transpose_b, m, n, k, lda, ldb, m, CUBLASLT_EPILOGUE_DEFAULT, count},
               out, a, b, nullptr, 0.0f);
}

template int matmul(gpt2_device &, float *, const __half *, const __half *, const __half *, int, int, int, int);
template int matmul(gpt2_device &, float *, const __nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *, int,
                    int, int, int);
#define INSTANTIATE(T)                                                                                      \
    template int matmul(gpt2_device &, T *, const T *, const T *, const T *, int, int, int, int);           \
    template int matmul_fp8(gpt2_device &, T *, const uint8_t *, const uint8_t *, const T *, const float *, \
                            const float *, bool, int, int, int);                                            \
    template int matmul_gelu(gpt2_device &, T *, const T *, const T *, const T *, int, int, int);           \
    template int matmul_dx(gpt2_device &, T *, const T *, const T *, int, int, int, int);                   \
    template int matmul_dweight(gpt2_device &, float *, const T *, const T *, int, int, int, int);          \
    template int matmul_batch(gpt2_device &, T *, const T *, const T *, bool, bool, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

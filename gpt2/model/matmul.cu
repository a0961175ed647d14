// matmul.cu — cuBLASLt's descriptions for each shape, made once (matmul.cuh)
#include "gpt2/model/matmul.cuh"

#include <new>
#include <vector>

namespace {
struct plan {
    cudaDataType in, out;
    int N, C, OC, ld;
    bool has_bias, has_gelu;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t weight, x, y;
    cublasLtMatmulAlgo_t algorithm;

    bool is(cudaDataType in_, cudaDataType out_, int N_, int C_, int OC_, int ld_, bool has_bias_,
            bool has_gelu_) const {
        return in == in_ && out == out_ && N == N_ && C == C_ && OC == OC_ && ld == ld_ && has_bias == has_bias_ &&
               has_gelu == has_gelu_;
    }
};

void drop(plan &p) {
    if (p.product) { cublasLtMatmulDescDestroy(p.product); }
    if (p.weight) { cublasLtMatrixLayoutDestroy(p.weight); }
    if (p.x) { cublasLtMatrixLayoutDestroy(p.x); }
    if (p.y) { cublasLtMatrixLayoutDestroy(p.y); }
}

int set(plan &p, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t size) {
    TRY_BLAS(cublasLtMatmulDescSetAttribute(p.product, attribute, value, size));
    return 0;
}

// Descriptions and an algorithm for one shape. On failure what was made is in p, for drop().
int make(plan &p, const gpt2_device &device, const void *bias) {
    int32_t transposed = CUBLAS_OP_T;
    uint32_t epilogue = p.has_gelu   ? CUBLASLT_EPILOGUE_GELU_BIAS
                        : p.has_bias ? CUBLASLT_EPILOGUE_BIAS
                                     : CUBLASLT_EPILOGUE_DEFAULT;
    TRY_BLAS(cublasLtMatmulDescCreate(&p.product, device.compute, CUDA_R_32F));
    TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (p.has_bias) { TRY(set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias)); }
    TRY_BLAS(cublasLtMatrixLayoutCreate(&p.weight, p.in, (uint64_t)p.C, (uint64_t)p.OC, p.C));
    TRY_BLAS(cublasLtMatrixLayoutCreate(&p.x, p.in, (uint64_t)p.C, (uint64_t)p.N, p.C));
    TRY_BLAS(cublasLtMatrixLayoutCreate(&p.y, p.out, (uint64_t)p.OC, (uint64_t)p.N, p.ld));

    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    TRY_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    int status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &device.workspace_bytes, sizeof device.workspace_bytes);
    if (status == 0) {
        status = cublasLtMatmulAlgoGetHeuristic(device.lt, p.product, p.weight, p.x, p.y, p.y, preference, 1, &found,
                                                &count);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    TRY_BLAS(status);
    if (count == 0) { return blas_error + CUBLAS_STATUS_NOT_SUPPORTED; }
    p.algorithm = found.algo;
    return 0;
}
} // namespace

struct matmul_plans {
    std::vector<plan> known;
};

matmul_plans *matmul_plans_open() {
    return new (std::nothrow) matmul_plans;
}

void matmul_plans_close(matmul_plans *plans) {
    if (plans == nullptr) { return; }
    for (plan &p : plans->known) { drop(p); }
    delete plans;
}

template <class Out, class T>
static int multiply(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC,
                    int ld, bool has_gelu) {
    const float one = 1.0f, zero = 0.0f;
    constexpr cudaDataType in_type = type_of<T>::cuda, out_type = type_of<Out>::cuda;
    plan *p = nullptr;
    for (plan &known : device.plans->known) {
        if (known.is(in_type, out_type, N, C, OC, ld, bias != nullptr, has_gelu)) { p = &known; }
    }
    if (p == nullptr) {
        plan made = {};
        made.in = in_type, made.out = out_type, made.N = N, made.C = C, made.OC = OC, made.ld = ld;
        made.has_bias = bias != nullptr, made.has_gelu = has_gelu;
        int error = make(made, device, bias);
        if (error != 0) {
            drop(made);
            return error;
        }
        device.plans->known.push_back(made);
        p = &device.plans->known.back();
    }
    if (bias != nullptr) { TRY(set(*p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias)); }
    TRY_BLAS(cublasLtMatmul(device.lt, p->product, &one, weight, p->weight, x, p->x, &zero, out, p->y, out, p->y,
                            &p->algorithm, device.workspace, device.workspace_bytes, device.stream));
    return 0;
}

template <class Out, class T>
int matmul(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC, int ld) {
    return multiply(device, out, x, weight, bias, N, C, OC, ld, false);
}

template <class T>
int matmul_gelu(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    return multiply(device, out, x, weight, bias, N, C, OC, OC, true);
}

template int matmul(gpt2_device &, float *, const float *, const float *, const float *, int, int, int, int);
template int matmul(gpt2_device &, __half *, const __half *, const __half *, const __half *, int, int, int, int);
template int matmul(gpt2_device &, float *, const __half *, const __half *, const __half *, int, int, int, int);
template int matmul(gpt2_device &, __nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *,
                    int, int, int, int);
template int matmul(gpt2_device &, float *, const __nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *, int,
                    int, int, int);

#define INSTANTIATE(T) template int matmul_gelu(gpt2_device &, T *, const T *, const T *, const T *, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

// matmul.cuh — y = x W^T + b, the only matrix product of GPT-2 outside attention, and its two gradients; and attention's in training
//
//   out (N, OC)      = x (N, C) weight^T + bias            weight: (OC, C); bias: (OC) or null; all row-major
//   dx (N, C)        = dout (N, OC) weight
//   dweight (OC, C) += dout^T x                            in fp32 in every type; dbias: bias_backward.cuh
//
// cuBLASLt, with the bias added in its epilogue. A row-major (N, C) is what cuBLAS calls a column-major (C, N), so the first is
// asked for as out^T (OC, N) = weight (OC, C) x^T (C, N): 'A' is the weight, transposed, and 'B' is x as it lies.
// What a shape needs (descriptions, algorithm) is looked up once and kept. Training has no product but these, so its checkpoints
// store the algorithm of each.
#ifndef GPT2_MATMUL_CUH
#define GPT2_MATMUL_CUH

#include "gpt2/model/device.cuh"

#include <vector>

matmul_plans *matmul_plans_open();
void matmul_plans_close(matmul_plans *plans); // null is fine

// D (m, n) = op(A) (m, k) op(B) (k, n), column-major as cuBLAS has it.
struct matmul_shape {
    cudaDataType in, out;
    int transpose_a, transpose_b; // 0 or 1
    int m, n, k;
    int lda, ldb, ldd;
    int epilogue; // cublasLtEpilogue_t; a bias is (m), of the type of D
    int batch;    // so many products: each matrix begins where the one before ends
};

// The algorithm that cuBLASLt chose for a shape: plain bytes, for one version of cuBLASLt on one kind of GPU.
struct matmul_choice {
    matmul_shape shape;
    cublasLtMatmulAlgo_t algorithm;
};
static_assert(sizeof(matmul_choice) == sizeof(matmul_shape) + sizeof(cublasLtMatmulAlgo_t), "a hole");

// All that has been chosen so far, in that order, those of an earlier run first; and to take those before the first product.
std::vector<matmul_choice> matmul_plans_choices(const matmul_plans *plans);
void matmul_plans_prefer(matmul_plans *plans, const matmul_choice *choices, size_t count);

// Out is T, or float for logits. ld: the width of out's rows, at least OC.
template <class Out, class T>
int matmul(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC, int ld);

template <class T>
int matmul(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    return matmul<T, T>(device, out, x, weight, bias, N, C, OC, OC);
}

// out = gelu(x weight^T + bias), by cuBLASLt's epilogue: the tanh form, of the sum before it is rounded to T.
template <class T>
int matmul_gelu(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC);

// The gradients. ld: the width of dout's rows, at least OC.
template <class T>
int matmul_dx(gpt2_device &device, T *dx, const T *dout, const T *weight, int N, int C, int OC, int ld);
template <class T>
int matmul_dweight(gpt2_device &device, float *dweight, const T *dout, const T *x, int N, int C, int OC, int ld);

// `count` products, column-major: out (m, n) = op(a) (m, k) op(b) (k, n). At most most_matmul_batch: cuBLASLt takes no more.
constexpr int most_matmul_batch = 65535;
template <class T>
int matmul_batch(gpt2_device &device, T *out, const T *a, const T *b, bool transpose_a, bool transpose_b, int m, int n,
                 int k, int count);

#endif

// matmul.cuh — matrix products by cuBLASLt: linear layers, their gradients, and batched products of attention in training
//
//   out (N, OC)      = x (N, C) weight^T + bias            weight: (OC, C); bias: (OC) or null; all row-major
//   dx (N, C)        = dout (N, OC) weight
//   dweight (OC, C) += dout^T x                            in fp32 in every type; dbias: bias_backward.cuh
//
// An epilogue adds the bias and applies GELU, or multiplies by its derivative, before the result is rounded. A row-major (N, C)
// is a column-major (C, N) to cuBLAS, so the first product is computed as out^T (OC, N) = weight (OC, C) x^T (C, N): A is the
// weight, transposed, and B is x as stored.
// The descriptors and the algorithm of a shape are chosen once and kept. Training has no other products, so its checkpoints store
// the algorithm of each.
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
    int batch;    // the number of products; their matrices follow each other in memory
};

// The algorithm that cuBLASLt chose for a shape: plain bytes, for one version of cuBLASLt on one kind of GPU.
struct matmul_choice {
    matmul_shape shape;
    cublasLtMatmulAlgo_t algorithm;
};
static_assert(sizeof(matmul_choice) == sizeof(matmul_shape) + sizeof(cublasLtMatmulAlgo_t), "no padding");

// choices: all choices so far, in order, those of an earlier run first. prefer, before the first product: use these choices.
std::vector<matmul_choice> matmul_plans_choices(const matmul_plans *plans);
void matmul_plans_prefer(matmul_plans *plans, const matmul_choice *choices, size_t count);

// From now on, time several algorithms before the first large product of a shape in a 16-bit type, and choose the fastest. Its
// memory is that of one result, for a moment; where there is none, and before the call: the first algorithm that cuBLASLt
// proposes, which every run chooses. Large products of fp8 are always timed.
void matmul_plans_time(matmul_plans *plans, bool timed);

// Out is T, or float for logits. ld: the width of out's rows, at least OC.
template <class Out, class T>
int matmul(gpt2_device &device, Out *out, const T *x, const T *weight, const T *bias, int N, int C, int OC, int ld);

template <class T>
int matmul(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC) {
    return matmul<T, T>(device, out, x, weight, bias, N, C, OC, OC);
}

// out = gelu(x weight^T + bias), in cuBLASLt's epilogue: the tanh form, applied before the sum is rounded to T.
template <class T>
int matmul_gelu(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC);

// out += x weight^T + bias: a product with the residual add after it.
template <class T>
int matmul_add(gpt2_device &device, T *out, const T *x, const T *weight, const T *bias, int N, int C, int OC);

// out = gelu(x weight^T + bias) again, and before (N, OC) = x weight^T + bias, which its gradient reads.
template <class T>
int matmul_gelu_keep(gpt2_device &device, T *out, T *before, const T *x, const T *weight, const T *bias, int N, int C,
                     int OC);

// dx = (dout weight) gelu'(before), rounded once.         dx, before (N, C)
template <class T>
int matmul_dx_gelu(gpt2_device &device, T *dx, const T *before, const T *dout, const T *weight, int N, int C, int OC);

// Products of codes in 8 bits (eight_bits.cuh): x (N, C) and weight (OC, C). C, OC and N are multiples of 16.
//   int8   sums = x weight^T in whole numbers
//   fp8    out = gelu?(input scale x weight^T + bias): e4m3, sums in fp32, input and scale each a float on the device; the bias
//          may be null, and is null where T is float. Compute capability 8.9
int matmul_int8(gpt2_device &device, int *sums, const uint8_t *x, const uint8_t *weight, int N, int C, int OC);
template <class T>
int matmul_fp8(gpt2_device &device, T *out, const uint8_t *x, const uint8_t *weight, const T *bias, const float *input,
               const float *scale, bool gelu, int N, int C, int OC);

// The gradients. ld: the width of dout's rows, at least OC. adds: dweight is added to; else it is overwritten.
template <class T>
int matmul_dx(gpt2_device &device, T *dx, const T *dout, const T *weight, int N, int C, int OC, int ld);
template <class T>
int matmul_dweight(gpt2_device &device, float *dweight, const T *dout, const T *x, int N, int C, int OC, int ld,
                   bool adds = true);

// `count` products, column-major: out (m, n) = op(a) (m, k) op(b) (k, n). cuBLASLt takes at most most_matmul_batch.
constexpr int most_matmul_batch = 65535;
template <class T>
int matmul_batch(gpt2_device &device, T *out, const T *a, const T *b, bool transpose_a, bool transpose_b, int m, int n,
                 int k, int count);

#endif

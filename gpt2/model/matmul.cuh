// matmul.cuh — y = x W^T + b: the only matrix product of GPT-2 outside attention
//
//   out (N, OC) = x (N, C) weight^T + bias           weight: (OC, C); bias: (OC) or null; all row-major
//
// cuBLASLt, with the bias added in its epilogue. A row-major (N, C) is what cuBLAS calls a column-major (C, N), so this is
// asked for as out^T (OC, N) = weight (OC, C) x^T (C, N): 'A' is the weight, transposed, and 'B' is x as it lies.
// What a shape needs (descriptions, algorithm) is looked up once and kept.
#ifndef GPT2_MATMUL_CUH
#define GPT2_MATMUL_CUH

#include "gpt2/model/device.cuh"

matmul_plans *matmul_plans_open();
void matmul_plans_close(matmul_plans *plans); // null is fine

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

#endif

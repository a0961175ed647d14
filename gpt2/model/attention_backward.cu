// attention_backward.cu — the gradient of causal self-attention, from batched products and two kernels of the set
//
// Purpose   The probabilities are H T elements a token, against 16 C for all else that a block keeps: as much again for 124M at
//           T = 1024. So they are not kept: the same two calls as in the forward pass make them again, with the same bits.
// Math      per sequence and head, all (T, D) but P and S: S = Q K^T, P = softmax(S / sqrt(D)), out = P V
//             dV = P^T dout      dP = dout V^T      dS = causal_softmax_backward(dP, P)      dQ = dS K      dK = dS^T Q
// Bytes     P: 4 B H T T elements (written 2, read 2); dP: 4.5 (written 2, read 2.5). From T of about 2 D on they dominate.
// Steps     1 split     qkv → query, k, v, and dout head by head
//           2 P         cuBLAS, then the kernel set's causal softmax in place
//           3 dP, dV    cuBLAS; dV takes V's place, which only dP needed
//           4 dS        the kernel set's, in place
//           5 dQ, dK    cuBLAS; dQ takes dout's place, dK that of K
//           6 join      dqkv
#include "gpt2/model/attention_backward.cuh"

#include <cmath>

enum { threads_per_block = 128 };

// A thread per element of Q. (Neighbours in d are neighbours in memory, on both sides.)
template <class T>
__global__ void split_kernel(T *__restrict__ query,      // (B, H, T, D)
                             T *__restrict__ k,          // (B, H, T, D)
                             T *__restrict__ v,          // (B, H, T, D)
                             T *__restrict__ dheads,     // (B, H, T, D)
                             const T *__restrict__ qkv,  // (B, T, 3, H, D)
                             const T *__restrict__ dout, // (B, T, H, D)
                             int64_t count, int T_, int H, int D) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), t = (int)(i / D % T_), h = (int)(i / D / T_ % H);
    int64_t b = i / D / T_ / H, row = b * T_ + t;
    const T *from = qkv + (row * 3 * H + h) * D + d; // Q; K and V are C and 2C further
    query[i] = from[0];
    k[i] = from[(int64_t)H * D];
    v[i] = from[(int64_t)2 * H * D];
    dheads[i] = dout[(row * H + h) * D + d];
}

template <class T>
__global__ void join_kernel(T *__restrict__ dqkv,     // (B, T, 3, H, D)
                            const T *__restrict__ dq, // (B, H, T, D)
                            const T *__restrict__ dk, // (B, H, T, D)
                            const T *__restrict__ dv, // (B, H, T, D)
                            int64_t count, int T_, int H, int D) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), t = (int)(i / D % T_), h = (int)(i / D / T_ % H);
    int64_t b = i / D / T_ / H;
    T *to = dqkv + ((b * T_ + t) * 3 * H + h) * D + d;
    to[0] = dq[i];
    to[(int64_t)H * D] = dk[i];
    to[(int64_t)2 * H * D] = dv[i];
}

namespace {
// The batched products, named by what is row-major. cuBLAS is column-major: a row-major (T, D) is its (D, T).
template <class T> struct products {
    gpt2_device &device;
    int heads, T_, D; // heads: of all sequences

    int run(cublasOperation_t op_a, cublasOperation_t op_b, int m, int k, T *out, const T *a, int lda, const T *b,
            int ldb) const {
        const float one = 1.0f, zero = 0.0f;
        const cudaDataType type = type_of<T>::cuda;
        const long long rows = T_;
        TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, op_a, op_b, m, T_, k, &one, a, type, lda, rows * lda, b, type,
                                            ldb, rows * ldb, &zero, out, type, m, rows * m, heads, device.compute,
                                            CUBLAS_GEMM_DEFAULT));
        return 0;
    }
    // out (T, T) = x (T, D) y^T
    int with_transposed(T *out, const T *x, const T *y) const {
        return run(CUBLAS_OP_T, CUBLAS_OP_N, T_, D, out, y, D, x, D);
    }
    // out (T, D) = s (T, T) x (T, D)
    int of_rows(T *out, const T *s, const T *x) const { return run(CUBLAS_OP_N, CUBLAS_OP_N, D, T_, out, x, D, s, T_); }
    // out (T, D) = s^T x (T, D)
    int of_columns(T *out, const T *s, const T *x) const {
        return run(CUBLAS_OP_N, CUBLAS_OP_T, D, T_, out, x, D, s, T_);
    }
};
} // namespace

template <class T>
int attention_backward(gpt2_device &device, const kernel_table &kernels, T *dqkv, const attention_room<T> &room,
                       const T *dout, const T *qkv, const int *lengths, int B, int T_, int H, int D) {
    const auto &op = type_of<T>::kernels(kernels);
    const float scale = 1.0f / sqrtf((float)D);
    const int64_t count = (int64_t)B * T_ * H * D;
    const products<T> products = {device, B * H, T_, D};
    T *query = room.query, *k = room.k, *v = room.v, *dheads = room.dout, *p = room.scores, *ds = room.dscores;

    split_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(query, k, v, dheads, qkv,
                                                                                               dout, count, T_, H, D);
    TRY(cudaGetLastError());
    TRY(products.with_transposed(p, query, k));
    TRY(op.causal_softmax_forward(p, p, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO, device.stream));
    TRY(products.with_transposed(ds, dheads, v));
    TRY(products.of_columns(v, p, dheads));
    TRY(op.causal_softmax_backward(ds, ds, p, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO, device.stream));
    TRY(products.of_rows(dheads, ds, k));
    TRY(products.of_columns(k, ds, query));
    join_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(dqkv, dheads, k, v, count,
                                                                                              T_, H, D);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_backward(gpt2_device &, const kernel_table &, T *, const attention_room<T> &, const T *, \
                                    const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

// attention_backward.cu — the gradient of causal self-attention, from batched products and two kernels of the set
//
// Purpose   The probabilities are H T elements a token, against 16 C for all else that a block keeps: as much again for 124M at
//           T = 1024. So they are not kept: the same two calls as in the forward pass make them again, with the same bits.
// Math      per sequence and head, all (T, D) but P and S: S = Q K^T, P = softmax(S / sqrt(D)), out = P V
//             dV = P^T dout      dP = dout V^T      dS = causal_softmax_backward(dP, P)      dQ = dS K      dK = dS^T Q
// Bytes     P: 4 B H T T elements (written 2, read 2); dP: 4.5 (written 2, read 2.5). From T of about 2 D on they dominate.
//           Split: 8 B T C elements, join: 6. 16 x 1024 x 768 in bf16: 201 and 151 MB, 48 and 36 us on an H200 at the
//           4.2 TB/s that copies reach.
// Steps     1 split     qkv → query, k, v, and dout head by head
//           2 P         cuBLAS, then the kernel set's causal softmax in place
//           3 dP, dV    cuBLAS; dV takes V's place, which only dP needed
//           4 dS        the kernel set's, in place
//           5 dQ, dK    cuBLAS; dQ takes dout's place, dK that of K
//           6 join      dqkv
#include "gpt2/model/attention_backward.cuh"

#include "gpt2/model/piece.cuh"

#include <cmath>
#include <initializer_list>

enum { threads_per_block = 128 };

// A block per token: its row of C is H heads of D, side by side. An element is a T, or 16 bytes of them.
template <class E>
__global__ void split_kernel(E *__restrict__ query,      // (B, H, T, D)
                             E *__restrict__ k,          // (B, H, T, D)
                             E *__restrict__ v,          // (B, H, T, D)
                             E *__restrict__ dheads,     // (B, H, T, D)
                             const E *__restrict__ qkv,  // (B, T, 3, H, D)
                             const E *__restrict__ dout, // (B, T, H, D)
                             int T_, int H, int D) {
    const int b = blockIdx.x / T_, t = blockIdx.x % T_, C = H * D;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        const E *from = qkv + (int64_t)blockIdx.x * 3 * C + c; // Q; K and V are C and 2C further
        const int64_t to = (((int64_t)b * H + c / D) * T_ + t) * D + c % D;
        const E q = from[0], key = from[C], value = from[2 * C], d = dout[(int64_t)blockIdx.x * C + c];
        query[to] = q, k[to] = key, v[to] = value, dheads[to] = d;
    }
}

template <class E>
__global__ void join_kernel(E *__restrict__ dqkv,     // (B, T, 3, H, D)
                            const E *__restrict__ dq, // (B, H, T, D)
                            const E *__restrict__ dk, // (B, H, T, D)
                            const E *__restrict__ dv, // (B, H, T, D)
                            int T_, int H, int D) {
    const int b = blockIdx.x / T_, t = blockIdx.x % T_, C = H * D;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        E *to = dqkv + (int64_t)blockIdx.x * 3 * C + c;
        const int64_t from = (((int64_t)b * H + c / D) * T_ + t) * D + c % D;
        const E q = dq[from], key = dk[from], value = dv[from];
        to[0] = q, to[C] = key, to[2 * C] = value;
    }
}

// As 16 bytes at a time, where D and the tensors allow it.
template <class T> static bool in_pieces(std::initializer_list<const T *> tensors, int D) {
    bool whole = D % piece<T>::size == 0;
    for (const T *tensor : tensors) { whole = whole && (size_t)tensor % 16 == 0; }
    return whole;
}

template <class T>
static int split(gpt2_device &device, T *query, T *k, T *v, T *dheads, const T *qkv, const T *dout, int B, int T_,
                 int H, int D) {
    const unsigned tokens = (unsigned)(B * T_);
    if (in_pieces<T>({query, k, v, dheads, qkv, dout}, D)) {
        split_kernel<<<tokens, threads_per_block, 0, device.stream>>>((uint4 *)query, (uint4 *)k, (uint4 *)v,
                                                                      (uint4 *)dheads, (const uint4 *)qkv,
                                                                      (const uint4 *)dout, T_, H, D / piece<T>::size);
    } else {
        split_kernel<<<tokens, threads_per_block, 0, device.stream>>>(query, k, v, dheads, qkv, dout, T_, H, D);
    }
    return cudaGetLastError();
}

template <class T>
static int join(gpt2_device &device, T *dqkv, const T *dq, const T *dk, const T *dv, int B, int T_, int H, int D) {
    const unsigned tokens = (unsigned)(B * T_);
    if (in_pieces<T>({dqkv, dq, dk, dv}, D)) {
        join_kernel<<<tokens, threads_per_block, 0, device.stream>>>(
            (uint4 *)dqkv, (const uint4 *)dq, (const uint4 *)dk, (const uint4 *)dv, T_, H, D / piece<T>::size);
    } else {
        join_kernel<<<tokens, threads_per_block, 0, device.stream>>>(dqkv, dq, dk, dv, T_, H, D);
    }
    return cudaGetLastError();
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
    const products<T> products = {device, B * H, T_, D};
    T *query = room.query, *k = room.k, *v = room.v, *dheads = room.dout, *p = room.scores, *ds = room.dscores;

    TRY(split(device, query, k, v, dheads, qkv, dout, B, T_, H, D));
    TRY(products.with_transposed(p, query, k));
    TRY(op.causal_softmax_forward(p, p, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO, device.stream));
    TRY(products.with_transposed(ds, dheads, v));
    TRY(products.of_columns(v, p, dheads));
    TRY(op.causal_softmax_backward(ds, ds, p, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO, device.stream));
    TRY(products.of_rows(dheads, ds, k));
    TRY(products.of_columns(k, ds, query));
    return join(device, dqkv, dheads, k, v, B, T_, H, D);
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_backward(gpt2_device &, const kernel_table &, T *, const attention_room<T> &, const T *, \
                                    const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

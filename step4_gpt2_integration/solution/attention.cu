// attention.cu — causal self-attention from two batched products and the fused causal softmax (lab 4)
//
// Purpose   The taught form writes every score: H * T * T numbers for a prompt of T tokens, to memory and back.
// Math      gpt2/model/attention.cuh
// Bytes     scores: the first product writes all of them, the softmax reads half and writes all, the second product reads
//           all: 3.5 B H T T elements, against 4 B T C for Q, K, V and the output. From T of about 2 D on they dominate.
// Steps     1 split   qkv → query, and k and v into the cache, head by head
//           2 scores  = query k^T           cuBLAS, a product for each sequence and head
//           3 causal softmax, in place      the kernel set's
//           4 query   = scores v            cuBLAS
//           5 merge   the heads side by side
#include "gpt2/model/attention.cuh"

#include <cmath>

enum { threads_per_block = 128 };

inline unsigned blocks_for(int64_t threads) {
    return (unsigned)((threads + threads_per_block - 1) / threads_per_block);
}

// A thread per element of Q. (Neighbours in d are neighbours in memory, on both sides.)
template <class T>
__global__ void split_heads(T *__restrict__ query,     // (B, H, T, D)
                            T *__restrict__ k,         // (B, H, S, D)
                            T *__restrict__ v,         // (B, H, S, D)
                            const T *__restrict__ qkv, // (B, T, 3, H, D)
                            int64_t count, int T_, int H, int D, int S) {
    //:todo 1a Split a position's row of qkv into its heads.
    //: Goal      element i of query, and for the same (b, h, t, d) one element of k and one of v.
    //: Shapes    qkv (B, T, 3, H, D): Q, then K, then V of a position. query (B, H, T, D); k, v (B, H, S, D), S >= T.
    //: Contract  count elements in all; the cache's positions from T on are left alone. Indices above 2^31 are right.
    //: Question  in query's shape d changes fastest. In which order do you take i apart?
    //:solution
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), t = (int)(i / D % T_), h = (int)(i / D / T_ % H);
    int64_t b = i / D / T_ / H;
    const T *from = qkv + ((b * T_ + t) * 3 * H + h) * D + d; // Q; K and V are C and 2C further
    int64_t cached = ((b * H + h) * S + t) * D + d;
    query[i] = from[0];
    k[cached] = from[(int64_t)H * D];
    v[cached] = from[(int64_t)2 * H * D];
    //:end
}

template <class T>
__global__ void merge_heads(T *__restrict__ out,         // (B, T, H, D)
                            const T *__restrict__ heads, // (B, H, T, D)
                            int64_t count, int T_, int H, int D) {
    //:todo 1b Put each token's heads side by side again.
    //: Goal      element i of out, (B, T, H, D), from heads, (B, H, T, D).
    //:solution
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), h = (int)(i / D % H), t = (int)(i / D / H % T_);
    int64_t b = i / D / H / T_;
    out[i] = heads[((b * H + h) * T_ + t) * D + d];
    //:end
}

template <class T>
int attention_forward(gpt2_device &device, const kernel_table &kernels, T *out, T *k, T *v, T *query, T *scores,
                      const T *qkv, const int *lengths, int B, int T_, int H, int D, int S) {
    //:todo 1c Attention: split, product, softmax, product, merge, on device.stream.
    //: Goal      out = softmax(Q K^T / sqrt(D)) V for each sequence and head, five launches with the two of cuBLAS.
    //: Shapes    scores (B, H, T, T). K and V lie in the cache: S * D from head to head, and T * D in query.
    //: Contract  the scale is applied once; scores above the
    //:           diagonal are zero when the second product
    //:           reads them; every call is in TRY or TRY_BLAS.
    //: Question  cuBLAS is column-major. Which matrix does it see where
    //:           you have a row-major (T, D)? Write both products so.
    //: Given     cublasGemmStridedBatchedEx with device.blas, device.compute and type_of<T>::cuda;
    //:           blocks_for(count); type_of<T>::kernels(kernels).causal_softmax_forward;
    //:           mark(device, "attention scores", -1) after the first product and mark(device,
    //:           "causal softmax", -1) after the softmax, for `gpt2 profile`.
    //:solution
    const float one = 1.0f, zero = 0.0f, scale = 1.0f / sqrtf((float)D);
    const cudaDataType type = type_of<T>::cuda;
    const int64_t count = (int64_t)B * T_ * H * D;
    const long long cache_stride = (long long)S * D, head_stride = (long long)T_ * D, score_stride = (long long)T_ * T_;

    split_heads<<<blocks_for(count), threads_per_block, 0, device.stream>>>(query, k, v, qkv, count, T_, H, D, S);
    TRY(cudaGetLastError());

    // cuBLAS is column-major: a row-major (T, D) is its (D, T). scores^T = K Q^T, so K comes first, transposed.
    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_T, CUBLAS_OP_N, T_, T_, D, &one, k, type, D,
                                        cache_stride, query, type, D, head_stride, &zero, scores, type, T_,
                                        score_stride, B * H, device.compute, CUBLAS_GEMM_DEFAULT));
    TRY(mark(device, "attention scores", -1));

    TRY(type_of<T>::kernels(kernels).causal_softmax_forward(scores, scores, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO,
                                                            device.stream));
    TRY(mark(device, "causal softmax", -1));

    // heads^T (D, T) = V^T scores^T: V is not transposed.
    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_N, CUBLAS_OP_N, D, T_, T_, &one, v, type, D,
                                        cache_stride, scores, type, T_, score_stride, &zero, query, type, D,
                                        head_stride, B * H, device.compute, CUBLAS_GEMM_DEFAULT));

    merge_heads<<<blocks_for(count), threads_per_block, 0, device.stream>>>(out, query, count, T_, H, D);
    TRY(cudaGetLastError());
    return 0;
    //:stub
    //: return cudaErrorNotSupported; // "not started"
    //:end
}

#define INSTANTIATE(T)                                                                                      \
    template int attention_forward(gpt2_device &, const kernel_table &, T *, T *, T *, T *, T *, const T *, \
                                   const int *, int, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

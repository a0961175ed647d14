// attention_backward.cu — causal self-attention in training and its gradient, from batched products and two kernels of the set
//
// Purpose   The probabilities take H T elements a token; everything else that a block keeps takes 16 C. For 124M at T = 1024 the
//           two are equal. So the probabilities are not kept: probabilities() computes them again, with the same bits.
// Math      per sequence and head, all (T, D) but P and S: S = Q K^T, P = softmax(S / sqrt(D)), out = P V
//             dV = P^T dout      dP = dout V^T      dS = causal_softmax_backward(dP, P)      dQ = dS K      dK = dS^T Q
// Bytes     P: 4 B H T T elements (written 2, read 2); dP: 4.5 (written 2, read 2.5). From T of about 2 D on they dominate.
//           Split: 8 B T C elements, join: 6. 16 x 1024 x 768 in bf16: 201 and 151 MB, 48 and 36 us on an H200 at 4.2 TB/s,
//           the speed of a copy.
// Steps     1 split     qkv → query, k, v, and dout head by head
//           2 P         a product, then the kernel set's causal softmax in place
//           3 dP, dV    products; dV overwrites V, which only dP reads
//           4 dS        the kernel set's, in place
//           5 dQ, dK    products; dQ overwrites dout, dK overwrites K
//           6 join      dqkv
//           The forward pass: 1 without dout, 2, out = P V over Q, merge.
// Dropout   With a mask M the products have M P in place of P, and dP = M (dout V^T). The softmax's gradient needs P itself, so
//           M P is computed in the memory of dP, and dV, which must then precede dP, has memory of its own.
#include "gpt2/model/attention_backward.cuh"

#include "gpt2/model/matmul.cuh"
#include "gpt2/model/vec16.cuh"

#include <cmath>
#include <initializer_list>

enum { threads_per_block = 128 };

// A block per token: its row of C is H heads of D, side by side. An element is a T, or 16 bytes of them. dout: null in the
// forward pass.
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
        const E q = from[0], key = from[C], value = from[2 * C];
        if (dout != nullptr) { dheads[to] = dout[(int64_t)blockIdx.x * C + c]; }
        query[to] = q, k[to] = key, v[to] = value;
    }
}

template <class E>
__global__ void merge_kernel(E *__restrict__ out,         // (B, T, H, D)
                             const E *__restrict__ heads, // (B, H, T, D)
                             int T_, int H, int D) {
    const int b = blockIdx.x / T_, t = blockIdx.x % T_, C = H * D;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        out[(int64_t)blockIdx.x * C + c] = heads[(((int64_t)b * H + c / D) * T_ + t) * D + c % D];
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

// Can heads be copied 16 bytes at a time?
template <class T> static bool in_vecs(std::initializer_list<const T *> tensors, int D) {
    bool whole = D % vec16<T>::size == 0;
    for (const T *tensor : tensors) { whole = whole && (size_t)tensor % 16 == 0; }
    return whole;
}

template <class T>
static int split(gpt2_device &device, T *query, T *k, T *v, T *dheads, const T *qkv, const T *dout, int B, int T_,
                 int H, int D) {
    const unsigned tokens = (unsigned)(B * T_);
    if (in_vecs<T>({query, k, v, dheads, qkv, dout}, D)) {
        split_kernel<<<tokens, threads_per_block, 0, device.stream>>>((uint4 *)query, (uint4 *)k, (uint4 *)v,
                                                                      (uint4 *)dheads, (const uint4 *)qkv,
                                                                      (const uint4 *)dout, T_, H, D / vec16<T>::size);
    } else {
        split_kernel<<<tokens, threads_per_block, 0, device.stream>>>(query, k, v, dheads, qkv, dout, T_, H, D);
    }
    return cudaGetLastError();
}

template <class T> static int merge(gpt2_device &device, T *out, const T *heads, int B, int T_, int H, int D) {
    const unsigned tokens = (unsigned)(B * T_);
    if (in_vecs<T>({out, heads}, D)) {
        merge_kernel<<<tokens, threads_per_block, 0, device.stream>>>((uint4 *)out, (const uint4 *)heads, T_, H,
                                                                      D / vec16<T>::size);
    } else {
        merge_kernel<<<tokens, threads_per_block, 0, device.stream>>>(out, heads, T_, H, D);
    }
    return cudaGetLastError();
}

template <class T>
static int join(gpt2_device &device, T *dqkv, const T *dq, const T *dk, const T *dv, int B, int T_, int H, int D) {
    const unsigned tokens = (unsigned)(B * T_);
    if (in_vecs<T>({dqkv, dq, dk, dv}, D)) {
        join_kernel<<<tokens, threads_per_block, 0, device.stream>>>(
            (uint4 *)dqkv, (const uint4 *)dq, (const uint4 *)dk, (const uint4 *)dv, T_, H, D / vec16<T>::size);
    } else {
        join_kernel<<<tokens, threads_per_block, 0, device.stream>>>(dqkv, dq, dk, dv, T_, H, D);
    }
    return cudaGetLastError();
}

namespace {
// The batched products, in terms of row-major matrices. A row-major (T, D) is a column-major (D, T) to cuBLAS.
template <class T> struct products {
    gpt2_device &device;
    int heads, T_, D; // heads: of all sequences

    // out (T, T) = x (T, D) y^T
    int with_transposed(T *out, const T *x, const T *y) const {
        return matmul_batch(device, out, y, x, true, false, T_, T_, D, heads);
    }
    // out (T, D) = s (T, T) x (T, D)
    int of_rows(T *out, const T *s, const T *x) const {
        return matmul_batch(device, out, x, s, false, false, D, T_, T_, heads);
    }
    // out (T, D) = s^T x (T, D)
    int of_columns(T *out, const T *s, const T *x) const {
        return matmul_batch(device, out, x, s, false, true, D, T_, T_, heads);
    }
};
} // namespace

// P (B, H, T, T)
template <class T>
static int probabilities(const products<T> &products, const kernel_table &kernels, T *p, const T *query, const T *k,
                         const int *lengths, int B, int H) {
    const float scale = 1.0f / sqrtf((float)products.D);
    TRY(products.with_transposed(p, query, k));
    return type_of<T>::kernels(kernels).causal_softmax_forward(p, p, lengths, B, H, products.T_, scale,
                                                               CAUSAL_UPPER_ZERO, products.device.stream);
}

template <class T>
int attention_taught(gpt2_device &device, const kernel_table &kernels, T *out, const attention_room<T> &room,
                     const T *qkv, const int *lengths, int B, int T_, int H, int D, const dropout &drop,
                     int64_t first) {
    const products<T> products = {device, B * H, T_, D};
    TRY(split<T>(device, room.query, room.k, room.v, nullptr, qkv, nullptr, B, T_, H, D));
    TRY(probabilities(products, kernels, room.scores, room.query, room.k, lengths, B, H));
    if (drop.below > 0) {
        TRY(dropout_forward(device, room.scores, room.scores, (int64_t)B * H * T_ * T_, first, drop));
    }
    TRY(products.of_rows(room.query, room.scores, room.v));
    return merge(device, out, room.query, B, T_, H, D);
}

template <class T>
int attention_backward(gpt2_device &device, const kernel_table &kernels, T *dqkv, const attention_room<T> &room,
                       const T *dout, const T *qkv, const int *lengths, int B, int T_, int H, int D,
                       const dropout &drop, int64_t first) {
    const auto &op = type_of<T>::kernels(kernels);
    const float scale = 1.0f / sqrtf((float)D);
    const products<T> products = {device, B * H, T_, D};
    T *query = room.query, *k = room.k, *v = room.v, *dheads = room.dout, *p = room.scores, *ds = room.dscores;
    T *dv = drop.below > 0 ? room.dv : v;
    const int64_t weights = (int64_t)B * H * T_ * T_;

    TRY(split(device, query, k, v, dheads, qkv, dout, B, T_, H, D));
    TRY(probabilities(products, kernels, p, query, k, lengths, B, H));
    if (drop.below > 0) {
        TRY(dropout_forward(device, ds, p, weights, first, drop));
        TRY(products.of_columns(dv, ds, dheads));
        TRY(products.with_transposed(ds, dheads, v));
        TRY(dropout_forward(device, ds, ds, weights, first, drop));
    } else {
        TRY(products.with_transposed(ds, dheads, v));
        TRY(products.of_columns(dv, p, dheads));
    }
    TRY(op.causal_softmax_backward(ds, ds, p, lengths, B, H, T_, scale, CAUSAL_UPPER_ZERO, device.stream));
    TRY(products.of_rows(dheads, ds, k));
    TRY(products.of_columns(k, ds, query));
    return join(device, dqkv, dheads, k, dv, B, T_, H, D);
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_taught(gpt2_device &, const kernel_table &, T *, const attention_room<T> &, const T *,   \
                                  const int *, int, int, int, int, const dropout &, int64_t);                       \
    template int attention_backward(gpt2_device &, const kernel_table &, T *, const attention_room<T> &, const T *, \
                                    const T *, const int *, int, int, int, int, const dropout &, int64_t);
FOR_EACH_TYPE(INSTANTIATE)

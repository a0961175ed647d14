// rows.cu — attention and LayerNorm with one thread for each row (rows.cuh)
//
// Purpose   The kernels of lab 3 share a row between 32 threads or more, which a GPU needs to read it fast. The CPU backend runs
//           these threads one after the other and switches to each of them at every shuffle. There one thread that loops over
//           the row is faster. The loops work on 16 elements at a time, which the compiler turns into vectors.
// Attention A tile of 128 queries at a time: scores = Q K^T in fp32, from the heads as they lie in qkv; softmax in place, which
//           leaves the weights in T; out = weights V. Keys behind the tile's last query are not read.
// Decoding  A thread for each head: its scores, their softmax, and the weighted sum of the values, 16 channels at a time.
// Bytes     for a tile whose last query is at t: 4 H 128 t written and read twice, 2 H 128 t of weights in 16-bit types; a
//           decoding step reads the cache once
// Kernels   cache_kernel, softmax_kernel, decode_kernel, layernorm_kernel; cuBLAS multiplies
#include "gpt2/model/rows.cuh"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace {
enum { cache_threads = 128, threads_per_block = 32 };

// On x86-64 the loops over a row are compiled for three processors. No sum is contracted, so the results are the same.
#if defined(SIMT_CPU_BACKEND) && defined(__x86_64__)
#define WITH_AVX2        __attribute__((target("arch=x86-64-v3")))
#define WITH_AVX512      __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define INTO_EACH_TARGET __attribute__((always_inline))
enum processor { any, avx2, avx512 };

processor this_processor() {
    return __builtin_cpu_supports("x86-64-v4") ? avx512 : __builtin_cpu_supports("x86-64-v3") ? avx2 : any;
}
#else
#define INTO_EACH_TARGET
enum processor { any };

processor this_processor() {
    return any;
}
#endif

struct lanes {
    float at[row_lanes];
};

// Elements from `count` on are `other`.
template <class T> INTO_EACH_TARGET __device__ inline lanes load(const T *from, int count, float other) {
    lanes to;
    if (count < row_lanes) {
        for (int i = 0; i < row_lanes; i++) { to.at[i] = i < count ? to_float(from[i]) : other; }
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        unsigned short bits[row_lanes];
        memcpy(bits, from, sizeof bits);
        for (int i = 0; i < row_lanes; i++) { to.at[i] = __uint_as_float((unsigned)bits[i] << 16); }
    } else {
        for (int i = 0; i < row_lanes; i++) { to.at[i] = to_float(from[i]); }
    }
    return to;
}

template <class T> INTO_EACH_TARGET __device__ inline void store(T *to, const lanes &from, int count) {
    if (count < row_lanes) {
        for (int i = 0; i < count; i++) { to[i] = from_float<T>(from.at[i]); }
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) { // to nearest even; a NaN stays one
        unsigned short bits[row_lanes];
        for (int i = 0; i < row_lanes; i++) {
            const unsigned wide = __float_as_uint(from.at[i]), rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
            bits[i] = (unsigned short)((wide & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
        }
        memcpy(to, bits, sizeof bits);
    } else {
        for (int i = 0; i < row_lanes; i++) { to[i] = from_float<T>(from.at[i]); }
    }
}

INTO_EACH_TARGET __device__ inline float sum_of(lanes x) { // in pairs: four additions deep, not sixteen
    for (int half = row_lanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) { x.at[i] += x.at[i + half]; }
    }
    return x.at[0];
}

// 2^x, x <= 0, with a relative error of about 1e-7; 0 below 2^-126. x = n + f, |f| <= 1/2, and 2^f is e^(f ln 2) as a polynomial.
INTO_EACH_TARGET __device__ inline float power_of_2(float x) {
    const float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
    const float bounded = x < -126.0f ? -126.0f : x, shifted = bounded + shift;
    const float r = (bounded - (shifted - shift)) * 0.693147181f;
    float power = 1.9875691500e-4f;
    power = power * r + 1.3981999507e-3f;
    power = power * r + 8.3334519073e-3f;
    power = power * r + 4.1665795894e-2f;
    power = power * r + 1.6666665459e-1f;
    power = power * r + 5.0000001201e-1f;
    power = power * r * r + r + 1.0f;
    power = __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23)); // its low bits are n
    return x < -126.0f ? 0.0f : power;
}

// weights[j] = softmax(scale scores[0 .. keys-1])[j], and 0 for the other j < padded, a multiple of row_lanes. Overwrites scores.
template <class T>
INTO_EACH_TARGET __device__ inline void softmax_row_inline(T *weights, float *scores, int keys, int padded,
                                                           float scale) {
    const int end = padded_row(keys);
    const float scale2 = scale * 1.44269504f;
    lanes most, total = {};
    for (int i = 0; i < row_lanes; i++) { most.at[i] = -FLT_MAX; }
    for (int j = keys; j < end; j++) { scores[j] = -INFINITY; }
    for (int j = 0; j < end; j += row_lanes) {
        const lanes x = load(scores + j, row_lanes, 0.0f);
        for (int i = 0; i < row_lanes; i++) { most.at[i] = x.at[i] > most.at[i] ? x.at[i] : most.at[i]; }
    }
    float largest = most.at[0];
    for (int i = 1; i < row_lanes; i++) { largest = most.at[i] > largest ? most.at[i] : largest; }
    for (int j = 0; j < end; j += row_lanes) {
        lanes x = load(scores + j, row_lanes, 0.0f);
        for (int i = 0; i < row_lanes; i++) { x.at[i] = power_of_2((x.at[i] - largest) * scale2); }
        for (int i = 0; i < row_lanes; i++) { total.at[i] += x.at[i]; }
        store(scores + j, x, row_lanes);
    }
    const float factor = 1.0f / sum_of(total);
    for (int j = 0; j < end; j += row_lanes) {
        lanes x = load(scores + j, row_lanes, 0.0f);
        for (int i = 0; i < row_lanes; i++) { x.at[i] *= factor; }
        store(weights + j, x, row_lanes);
    }
    const lanes zeros = {};
    for (int j = end; j < padded; j += row_lanes) { store(weights + j, zeros, row_lanes); }
}

// One head of decode_rows, whose cache has `keys` keys and values (keys, D) with the new ones.
template <class T>
INTO_EACH_TARGET __device__ inline void decode_head_inline(T *out, float *scores, const T *query, const T *k,
                                                           const T *v, int keys, int D, float scale) {
    for (int j = 0; j < keys; j++) {
        lanes total = {};
        for (int d = 0; d < D; d += row_lanes) {
            const lanes x = load(query + d, D - d, 0.0f), y = load(k + (int64_t)j * D + d, D - d, 0.0f);
            for (int i = 0; i < row_lanes; i++) { total.at[i] += x.at[i] * y.at[i]; }
        }
        scores[j] = sum_of(total);
    }
    softmax_row_inline(scores, scores, keys, padded_row(keys), scale);
    for (int d = 0; d < D; d += row_lanes) {
        lanes total = {};
        for (int j = 0; j < keys; j++) {
            const lanes x = load(v + (int64_t)j * D + d, D - d, 0.0f);
            for (int i = 0; i < row_lanes; i++) { total.at[i] += scores[j] * x.at[i]; }
        }
        store(out + d, total, D - d);
    }
}

// One row of layernorm_rows. The sum is rounded to T, and its statistics are those of the rounded one.
template <class T>
INTO_EACH_TARGET __device__ inline void layernorm_row_inline(T *out, T *residual, const T *branch, const T *weight,
                                                             const T *bias, int C, float eps) {
    lanes total = {};
    for (int c = 0; c < C; c += row_lanes) {
        lanes x = load(residual + c, C - c, 0.0f);
        if (branch != nullptr) {
            const lanes y = load(branch + c, C - c, 0.0f);
            for (int i = 0; i < row_lanes; i++) { x.at[i] += y.at[i]; }
            store(residual + c, x, C - c);
            x = load(residual + c, C - c, 0.0f);
        }
        for (int i = 0; i < row_lanes; i++) { total.at[i] += x.at[i]; }
    }
    const float mean = sum_of(total) / (float)C;
    total = {};
    for (int c = 0; c < C; c += row_lanes) {
        const lanes x = load(residual + c, C - c, mean);
        for (int i = 0; i < row_lanes; i++) { total.at[i] += (x.at[i] - mean) * (x.at[i] - mean); }
    }
    const float rstd = 1.0f / sqrtf(sum_of(total) / (float)C + eps);
    for (int c = 0; c < C; c += row_lanes) {
        lanes x = load(residual + c, C - c, 0.0f);
        const lanes w = load(weight + c, C - c, 0.0f), b = load(bias + c, C - c, 0.0f);
        for (int i = 0; i < row_lanes; i++) { x.at[i] = (x.at[i] - mean) * rstd * w.at[i] + b.at[i]; }
        store(out + c, x, C - c);
    }
}

#ifdef WITH_AVX512
#define FOR_PROCESSORS(name)                                                          \
    template <class... A> WITH_AVX512 __device__ void name##_avx512(A... arguments) { \
        name##_inline(arguments...);                                                  \
    }                                                                                 \
    template <class... A> WITH_AVX2 __device__ void name##_avx2(A... arguments) {     \
        name##_inline(arguments...);                                                  \
    }                                                                                 \
    template <class... A> __device__ void name(processor on, A... arguments) {        \
        switch (on) {                                                                 \
            case avx512: name##_avx512(arguments...); break;                          \
            case avx2: name##_avx2(arguments...); break;                              \
            case any: name##_inline(arguments...); break;                             \
        }                                                                             \
    }
#else
#define FOR_PROCESSORS(name)                                                        \
    template <class... A> __device__ void name(processor /*any*/, A... arguments) { \
        name##_inline(arguments...);                                                \
    }
#endif
FOR_PROCESSORS(softmax_row)
FOR_PROCESSORS(decode_head)
FOR_PROCESSORS(layernorm_row)

// A thread per position and head.
template <class T>
__global__ void cache_kernel(T *__restrict__ k,         // (H, S, D)
                             T *__restrict__ v,         // (H, S, D)
                             const T *__restrict__ qkv, // (T, 3, H, D)
                             int T_, int H, int D, int S) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (int64_t)T_ * H) { return; }
    const int64_t h = i % H, t = i / H, to = (h * S + t) * D;
    const T *from = qkv + (t * 3 * H + h) * D; // Q; K and V are C and 2C further
    const T *from_k = from + (int64_t)H * D, *from_v = from + (int64_t)2 * H * D;
    for (int d = 0; d < D; d++) {
        k[to + d] = from_k[d];
        v[to + d] = from_v[d];
    }
}

// A thread per head and query.
template <class T>
__global__ void softmax_kernel(T *weights,         // (H, rows, padded)
                               float *scores,      // (H, rows, padded)
                               const int *lengths, // of this sequence
                               int H, int rows, int padded, int first, float scale, processor on) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= H * rows) { return; }
    const int keys = min(first + i % rows + 1, *lengths);
    softmax_row(on, weights + (int64_t)i * padded, scores + (int64_t)i * padded, keys, padded, scale);
}

// A thread per sequence and head.
template <class T>
__global__ void decode_kernel(T *out,               // (B, H, D)
                              T *k,                 // (B, H, S, D)
                              T *v,                 // (B, H, S, D)
                              float *scores,        // (B, H, padded_row(S))
                              const T *qkv,         // (B, 3, H, D)
                              const int *positions, // (B)
                              int heads, int H, int D, int S, float scale, processor on) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= heads) { return; }
    const int b = i / H, h = i % H, p = positions[b];
    const int64_t C = (int64_t)H * D, cached = (int64_t)i * S * D;
    const T *query = qkv + b * 3 * C + (int64_t)h * D;
    for (int d = 0; d < D; d++) {
        k[cached + (int64_t)p * D + d] = query[C + d];
        v[cached + (int64_t)p * D + d] = query[2 * C + d];
    }
    decode_head(on, out + (int64_t)i * D, scores + (int64_t)i * padded_row(S), query, k + cached, v + cached, p + 1, D,
                scale);
}

// A thread per row.
template <class T>
__global__ void layernorm_kernel(T *out, T *residual, const T *branch, const T *weight, const T *bias, int N, int C,
                                 float eps, processor on) {
    const int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= N) { return; }
    const int64_t row = (int64_t)n * C;
    layernorm_row(on, out + row, residual + row, branch == nullptr ? branch : branch + row, weight, bias, C, eps);
}

// cuBLAS is column-major: a row-major (T, D) is its (D, T). scores^T = K Q^T and out^T = V^T weights^T.
template <class T>
int attend_tile(gpt2_device &device, T *out, T *scratch, const T *qkv, const int *lengths, int first, int rows, int H,
                int D) {
    const float scale = 1.0f / sqrtf((float)D), one = 1.0f, zero = 0.0f;
    const int no_layer = -1;
    const cudaDataType type = type_of<T>::cuda;
    const int C = H * D, keys = first + rows, padded = padded_row(keys);
    const long long of_head = (long long)rows * padded;
    float *scores = (float *)scratch;
    T *weights = (T *)(scores + H * of_head);
    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_T, CUBLAS_OP_N, keys, rows, D, &one, qkv + C, type,
                                        3 * C, D, qkv + (int64_t)first * 3 * C, type, 3 * C, D, &zero, scores,
                                        CUDA_R_32F, padded, of_head, H, device.compute, CUBLAS_GEMM_DEFAULT));
    TRY(mark(device, "attention scores", no_layer));
    softmax_kernel<<<blocks_of(H * rows, threads_per_block), threads_per_block, 0, device.stream>>>(
        weights, scores, lengths, H, rows, padded, first, scale, this_processor());
    TRY(cudaGetLastError());
    TRY(mark(device, "causal softmax", no_layer));
    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_N, CUBLAS_OP_N, D, rows, keys, &one, qkv + 2 * C, type,
                                        3 * C, D, weights, type, padded, of_head, &zero, out + (int64_t)first * C, type,
                                        C, D, H, device.compute, CUBLAS_GEMM_DEFAULT));
    return 0;
}
} // namespace

template <class T>
int attention_rows(gpt2_device &device, T *out, T *k, T *v, T *scratch, const T *qkv, const int *lengths, int B, int T_,
                   int H, int D, int S) {
    for (int b = 0; b < B; b++) {
        const int64_t rows = (int64_t)b * T_ * H * D, cached = (int64_t)b * S * H * D;
        cache_kernel<<<blocks_of((int64_t)T_ * H, cache_threads), cache_threads, 0, device.stream>>>(
            k + cached, v + cached, qkv + 3 * rows, T_, H, D, S);
        TRY(cudaGetLastError());
        for (int first = 0; first < T_; first += rows_tile) {
            TRY(attend_tile(device, out + rows, scratch, qkv + 3 * rows, lengths + b, first,
                            T_ - first < rows_tile ? T_ - first : rows_tile, H, D));
        }
    }
    return 0;
}

// A block for each head: the CPU backend divides blocks among the cores.
template <class T>
int decode_rows(gpt2_device &device, T *out, T *k, T *v, float *scores, const T *qkv, const int *positions, int B,
                int H, int D, int S) {
    decode_kernel<<<(unsigned)(B * H), 1, 0, device.stream>>>(out, k, v, scores, qkv, positions, B * H, H, D, S,
                                                              1.0f / sqrtf((float)D), this_processor());
    return cudaGetLastError();
}

template <class T>
int layernorm_rows(gpt2_device &device, T *out, T *residual, const T *branch, const T *weight, const T *bias, int N,
                   int C, float eps) {
    layernorm_kernel<<<blocks_of(N, threads_per_block), threads_per_block, 0, device.stream>>>(
        out, residual, branch, weight, bias, N, C, eps, this_processor());
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                               \
    template int attention_rows(gpt2_device &, T *, T *, T *, T *, const T *, const int *, int, int, int, int, int); \
    template int decode_rows(gpt2_device &, T *, T *, T *, float *, const T *, const int *, int, int, int, int);     \
    template int layernorm_rows(gpt2_device &, T *, T *, const T *, const T *, const T *, int, int, float);
FOR_EACH_TYPE(INSTANTIATE)

// causal_softmax.cu — scale, causal mask and softmax in one kernel (lab 3)
//
// Purpose   The middle of attention: query i sees the keys j <= i. Frameworks run three kernels over the whole matrix; one
//           kernel can skip the upper triangle.
// Math      keys = min(i + 1, lengths[b])      m = max_(j < keys) scale x[i][j]
//           out[i][j] = exp(scale x[i][j] - m) / sum_(k < keys) exp(scale x[i][k] - m) for j < keys, else 0
//           out, x: (B, H, T, T); lengths: (B) or null; row n of N = B H T is query i = n % T of batch n / T / H
// Bytes     floor: read half of x, write out: 1.5 s N T, where an element has s bytes; with CAUSAL_UPPER_KEEP half of out
//           too, 1 s N T. (8, 12, 1024, 1024): 604 MB in fp32, 302 MB in bf16: 126 and 63 us on an H200 (4.8 TB/s).
//:swap
// Kernels   1  thread per row. Fused and slow: neighbouring threads read 4 T bytes apart, which fusion does not change
//:stub
//: // Kernels   1  thread per row: lab 1's; fused and slow, since neighbouring threads read 4 T bytes apart
//:end
//           2  warp per row, one element at a time                                                             fp32
//           3  warp per row, 16 bytes at a time                                                                fp32
//           4  warp per row, the row in registers: one read; one template for fp32, fp16 and bf16
//:omit
//           5  speed of light: see speed_of_light/causal_softmax.cuh
// What did not help
//           6  kernel 2 with online softmax: two reads of x in place of three
//:end
//           In the 16-bit types the numbers 2 and 3 run kernel 4.
// Launchers causal_softmax_forward_f32, _f16, _bf16, declared in common/ops/causal_softmax_forward/contract.h
#include "arguments.cuh"
#include "causal_range.cuh"
#include "common/cuda_check.h"
#include "common/ops/causal_softmax_forward/contract.h"
#include "reduce.cuh"
//:omit
#include "speed_of_light/causal_softmax.cuh"
//:end
#include "vec.cuh"

#include <cuda_runtime.h>
#include <math.h>
#include <type_traits>

// The kernel that the launchers launch.
//:swap
constexpr int chosen_kernel = 5;
//:stub
//: constexpr int chosen_kernel = 0; // 0: not started. Set it to 2 when kernel 2 is written, then climb.
//:end
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// out may be x, so these pointers are not __restrict__. Every element is read for the last time before it is written, by
// the thread that writes it.

// ---- kernels ----

//:omit
template <class T>
__global__ void causal_softmax_forward_kernel1(T *out,             // (N, T)
                                               const T *x,         // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *x_row = x + (size_t)n * T_; // (T)
    T *out_row = out + (size_t)n * T_;   // (T)

    float largest = -INFINITY;
    for (int j = 0; j < range.keys; j++) { largest = fmaxf(largest, scale * to_float(x_row[j])); }
    float sum = 0.0f;
    for (int j = 0; j < range.keys; j++) { sum += expf(scale * to_float(x_row[j]) - largest); }
    for (int j = 0; j < range.end; j++) {
        out_row[j] = from_float<T>(j < range.keys ? expf(scale * to_float(x_row[j]) - largest) / sum : 0.0f);
    }
}

//:end
__global__ void causal_softmax_forward_kernel2(float *out,         // (N, T)
                                               const float *x,     // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper) {
    //:todo 1a A warp per row, for the columns that the mask leaves.
    //: Goal      lab 2's warp per row on the first range.keys columns of row n, and zeros behind them.
    //: Shapes    x, out (N, T), N = B H T rows; a row begins at (size_t)n
    //:           * T_. causal_range_of(n, lengths, H, T_, upper) says how
    //:           many columns are keys and how many are written.
    //: Contract  no load beyond range.keys, no store from range.end on. A row without keys is all zeros, not NaN.
    //: Question  the exponent has scale * x. Of what is m the maximum?
    //: Given     causal_range.cuh: causal_range_of, warp_zeros.
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const float *x_row = x + (size_t)n * T_; // (T)
    float *out_row = out + (size_t)n * T_;   // (T)
    float largest = -INFINITY;
    for (int j = lane; j < range.keys; j += warp_size) { largest = fmaxf(largest, scale * x_row[j]); }
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int j = lane; j < range.keys; j += warp_size) { sum += expf(scale * x_row[j] - largest); }
    sum = warp_sum(sum);

    for (int j = lane; j < range.keys; j += warp_size) { out_row[j] = expf(scale * x_row[j] - largest) / sum; }
    warp_zeros(out_row, range.keys, range.end, lane);
    //:end
}

// aligned: every row begins at a multiple of 16 bytes. A vec that the diagonal cuts is read element by element.
__global__ void causal_softmax_forward_kernel3(float *out,         // (N, T)
                                               const float *x,     // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper, bool aligned) {
    //:todo 2a 16 bytes for each access.
    //: Goal      kernel 2's result and its sectors, in a quarter of the requests.
    //: Shapes    a vec<float> is 4 columns; 32 lanes take 128 neighbouring columns at a time.
    //: Contract  that of 1a, for every T and, if `aligned` is false, for
    //:           rows that begin anywhere. A vec that reaches past the keys
    //:           or the row's end is read and written element by element.
    //: Question  which kinds of columns can one vec hold in the last pass? Draw T = 6, rows 2 and 4.
    //: Given     row_vec, vec_load_part, vec_unpack; vec_pack, vec_store, vec_store_part.
    //:solution
    constexpr int size = vec<float>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const float *x_row = x + (size_t)n * T_; // (T)
    float *out_row = out + (size_t)n * T_;   // (T)
    float v[size], largest = -INFINITY, sum = 0.0f;
    for (int j = lane * size; j < range.keys; j += step) {
        int count = min(size, range.keys - j);
        vec_unpack(aligned && count == size ? row_vec(x_row, j) : vec_load_part(x_row + j, count), v);
        for (int i = 0; i < count; i++) { largest = fmaxf(largest, scale * v[i]); }
    }
    largest = warp_max(largest);

    for (int j = lane * size; j < range.keys; j += step) {
        int count = min(size, range.keys - j);
        vec_unpack(aligned && count == size ? row_vec(x_row, j) : vec_load_part(x_row + j, count), v);
        for (int i = 0; i < count; i++) { sum += expf(scale * v[i] - largest); }
    }
    sum = warp_sum(sum);

    for (int j = lane * size; j < range.end; j += step) {
        int count = max(0, min(size, range.keys - j)), written = min(size, range.end - j);
        vec_unpack(aligned && count == size ? row_vec(x_row, j) : vec_load_part(x_row + j, count), v);
        for (int i = 0; i < size; i++) { v[i] = i < count ? expf(scale * v[i] - largest) / sum : 0.0f; }
        vec<float> result;
        vec_pack(result, v);
        vec_store(out_row + j, result, written, aligned && written == size);
    }
    //:end
}

// VECS: of a row, in one lane. The loops over them are unrolled, since registers cannot be indexed.
template <class T, int VECS>
__global__ void causal_softmax_forward_kernel4(T *out,             // (N, T)
                                               const T *x,         // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper, bool aligned) {
    //:todo 3a One read: kernel 3, with the row in registers. First for T = float, then for every T.
    //: Goal      1.00 times the floor: each key is loaded once, each column
    //:           stored once; all loads of a row in flight together.
    //: Shapes    vec<T> row[VECS], a lane's part of the row. vec<T>::size is 4 or 8.
    //: Contract  that of 2a in fp32, fp16 and bf16: arithmetic in fp32,
    //:           one rounding. T = 1, 31, 1023 and 1024 are right in each.
    //: Question  registers have no addresses. Which loops must be unrolled
    //:           (#pragma unroll), and what has to be known then?
    //:solution
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *x_row = x + (size_t)n * T_; // (T)
    T *out_row = out + (size_t)n * T_;   // (T)
    vec<T> row[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int j = k * step + lane * size, count = range.keys - j;
        if (count > 0) {
            row[k] = aligned && count >= size ? row_vec(x_row, j) : vec_load_part(x_row + j, min(count, size));
        }
    }

    float v[size], largest = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int count = range.keys - k * step - lane * size;
        if (count > 0) {
            vec_unpack(row[k], v);
#pragma unroll
            for (int i = 0; i < size; i++) { largest = fmaxf(largest, i < count ? scale * v[i] : -INFINITY); }
        }
    }
    largest = warp_max(largest);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int count = range.keys - k * step - lane * size;
        if (count > 0) {
            vec_unpack(row[k], v);
#pragma unroll
            for (int i = 0; i < size; i++) { sum += i < count ? expf(scale * v[i] - largest) : 0.0f; }
        }
    }
    sum = warp_sum(sum);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int j = k * step + lane * size, count = range.keys - j, written = min(size, range.end - j);
        if (written > 0) {
            if (count > 0) { vec_unpack(row[k], v); }
#pragma unroll
            for (int i = 0; i < size; i++) { v[i] = i < count ? expf(scale * v[i] - largest) / sum : 0.0f; }
            vec_pack(row[k], v);
            vec_store(out_row + j, row[k], written, aligned && written == size);
        }
    }
    //:end
}

//:omit
// ---- what did not help ----

// Online softmax: kernel 2 with one read of x less. But each element costs two exponentials in place of one, and they depend
// on the element before.
template <class T>
__global__ void causal_softmax_forward_kernel6(T *out,             // (N, T)
                                               const T *x,         // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *x_row = x + (size_t)n * T_; // (T)
    T *out_row = out + (size_t)n * T_;   // (T)

    softmax_part part = {-FLT_MAX, 0.0f};
    for (int j = lane; j < range.keys; j += warp_size) {
        part = softmax_merge<float>(part, {scale * to_float(x_row[j]), 1.0f});
    }
    part = warp_softmax_merge<float>(part, warp_size);
    for (int j = lane; j < range.keys; j += warp_size) {
        out_row[j] = from_float<T>(expf(scale * to_float(x_row[j]) - part.largest) / part.sum);
    }
    warp_zeros(out_row, range.keys, range.end, lane);
}

//:end
// ---- launchers ----

//:swap
// Launches kernel `rung`. Rows that are too long for the registers of kernel 4 go to kernel 2, in the 16-bit types to kernel 1.
//:stub
//: // Launches kernel `rung`. In fp32, rows of more than 16 KiB, too long for the registers of kernel 4, go to kernel 2.
//:end
template <class T>
static int launch_rung(int rung, T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, int upper,
                       cudaStream_t stream) {
    CUDA_CHECK(check_matrices(B, H, T_, upper, {out, x}));
    if (rung < 0) { return cudaErrorInvalidValue; }
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (B == 0 || H == 0) { return cudaSuccess; }
    int N = B * H * T_, warp_blocks = (N - 1) / warps_per_block + 1;
    bool aligned = T_ % vec<T>::size == 0 && vec_aligned(out) && vec_aligned(x);
    int vecs = (T_ - 1) / (warp_size * vec<T>::size) + 1; // of a lane
    //:omit
    if (rung == 5) {
        int status = causal_softmax_speed_of_light(out, x, lengths, N, H, T_, scale, upper, stream);
        if (status != cudaErrorNotSupported) { return status; }
        rung = 6; // any length
    }
    if (rung == 6) {
        causal_softmax_forward_kernel6<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_, scale,
                                                                                      upper);
        CUDA_CHECK(cudaGetLastError());
        return cudaSuccess;
    }
    //:end
    if (rung > 4) { return cudaErrorInvalidValue; }
    if constexpr (std::is_same<T, float>::value) {
        if (rung == 2 || (rung == 4 && vecs > 32)) {
            causal_softmax_forward_kernel2<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_,
                                                                                          scale, upper);
        }
        if (rung == 3) {
            causal_softmax_forward_kernel3<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_,
                                                                                          scale, upper, aligned);
        }
    } else if (rung == 2 || rung == 3) {
        rung = 4;
    }
    if (rung == 4 && vecs <= 32) {
        auto kernel = vecs <= 2   ? causal_softmax_forward_kernel4<T, 2>
                      : vecs <= 4 ? causal_softmax_forward_kernel4<T, 4>
                      : vecs <= 8 ? causal_softmax_forward_kernel4<T, 8>
                                  : causal_softmax_forward_kernel4<T, 32>;
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_, scale, upper, aligned);
    }
    //:swap
    if (rung == 1 || (rung == 4 && vecs > 32 && sizeof(T) == 2)) {
        causal_softmax_forward_kernel1<<<(N - 1) / threads_per_block + 1, threads_per_block, 0, stream>>>(
            out, x, lengths, N, H, T_, scale, upper);
    }
    //:stub
    //: if (rung == 1 || (rung == 4 && vecs > 32 && sizeof(T) == 2)) { return cudaErrorInvalidValue; }
    //:end
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                          \
    int name(T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, int upper,                  \
             cudaStream_t stream) {                                                                                 \
        return launch_rung(chosen_kernel, out, x, lengths, B, H, T_, scale, upper, stream);                         \
    }                                                                                                               \
    extern "C" int name##_rung(int rung, T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, \
                               int upper, cudaStream_t stream) {                                                    \
        return launch_rung(rung, out, x, lengths, B, H, T_, scale, upper, stream);                                  \
    }
LAUNCHERS(causal_softmax_forward_f32, float)
LAUNCHERS(causal_softmax_forward_f16, __half)
LAUNCHERS(causal_softmax_forward_bf16, __nv_bfloat16)

// causal_softmax_backward.cu — the gradient of scale, causal mask and softmax in one kernel (lab 3, track B: optional)
//
// Purpose   Training needs the gradient of the scores from that of the attention weights. Masked scores have gradient 0, so
//           the upper triangle is not read.
// Math      s = sum_(j < keys) out[i][j] dout[i][j]      dx[i][j] = scale out[i][j] (dout[i][j] - s) for j < keys, else 0
//           keys = min(i + 1, lengths[b])      dx, dout, out: (B, H, T, T); row n of N = B H T is query i = n % T
// Bytes     floor: read half of dout and of out, write dx: 2 s N T, where an element has s bytes; CAUSAL_UPPER_KEEP: 1.5 s N T.
//           (8, 12, 1024, 1024): 805 MB in fp32, 403 MB in bf16: 168 and 84 us on an H200 (4.8 TB/s).
// Kernels   1  warp per row, one element at a time
//:omit
//           2  warp per row, 16 bytes at a time
//           3  warp per row, both rows in registers: one read
//           4  speed of light: see speed_of_light/causal_softmax_backward.cuh
//:end
// Launchers causal_softmax_backward_f32, _f16, _bf16, declared in common/ops/causal_softmax_backward/contract.h
#include "arguments.cuh"
#include "causal_range.cuh"
#include "common/cuda_check.h"
#include "common/ops/causal_softmax_backward/contract.h"
#include "reduce.cuh"
//:omit
#include "speed_of_light/causal_softmax_backward.cuh"
//:end
#include "vec.cuh"

#include <cuda_runtime.h>

// The kernel that the launchers launch.
//:swap
constexpr int chosen_kernel = 4;
//:stub
//: constexpr int chosen_kernel = 0; // 0: not started. Set it to 1 when kernel 1 is written.
//:end
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// dx may be dout, so these two are not __restrict__. Every element of dout is read for the last time before dx is written
// there, by the thread that writes it.

template <class T>
__global__ void causal_softmax_backward_kernel1(T *dx,                     // (N, T)
                                                const T *dout,             // (N, T)
                                                const T *__restrict__ out, // (N, T)
                                                const int *lengths,        // (B) or null
                                                int N, int H, int T_, float scale, int upper) {
    //:todo 7a Two passes over the columns that the mask leaves.
    //: Goal      dx by the math above, a warp per row; zeros behind the keys.
    //: Contract  nothing beyond range.keys is read. Sums in fp32, one rounding. dx may be dout.
    //: Question  which number does the second pass need from the first?
    //: Known     to_float(value), from_float<T>(value); causal_range_of and warp_zeros as in the forward pass.
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *dout_row = dout + (size_t)n * T_, *out_row = out + (size_t)n * T_; // (T)
    T *dx_row = dx + (size_t)n * T_;                                            // (T)
    float dot = 0.0f;
    for (int j = lane; j < range.keys; j += warp_size) { dot += to_float(out_row[j]) * to_float(dout_row[j]); }
    dot = warp_sum(dot);

    for (int j = lane; j < range.keys; j += warp_size) {
        dx_row[j] = from_float<T>(scale * to_float(out_row[j]) * (to_float(dout_row[j]) - dot));
    }
    warp_zeros(dx_row, range.keys, range.end, lane);
    //:end
}

//:omit
// ---- the two passes for the elements of one vec; `count` of them are keys, and vec_load_part makes the others 0 ----

template <class T> __device__ inline vec<T> keys_load(const T *row, int j, int count, bool aligned) {
    return aligned && count >= vec<T>::size ? row_vec(row, j)
                                            : vec_load_part(row + j, max(0, min(count, vec<T>::size)));
}

template <class T> __device__ inline float vec_dot(const vec<T> &dout, const vec<T> &out) {
    float d[vec<T>::size], y[vec<T>::size], sum = 0.0f;
    vec_unpack(dout, d);
    vec_unpack(out, y);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { sum += y[i] * d[i]; }
    return sum;
}

template <class T>
__device__ inline vec<T> vec_gradient(const vec<T> &dout, const vec<T> &out, float dot, float scale, int count) {
    float d[vec<T>::size], y[vec<T>::size];
    vec_unpack(dout, d);
    vec_unpack(out, y);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { d[i] = i < count ? scale * y[i] * (d[i] - dot) : 0.0f; }
    vec<T> result;
    vec_pack(result, d);
    return result;
}

// aligned: every row of every tensor begins at a multiple of 16 bytes. A vec that the diagonal cuts is read by element.
template <class T>
__global__ void causal_softmax_backward_kernel2(T *dx,                     // (N, T)
                                                const T *dout,             // (N, T)
                                                const T *__restrict__ out, // (N, T)
                                                const int *lengths,        // (B) or null
                                                int N, int H, int T_, float scale, int upper, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *dout_row = dout + (size_t)n * T_, *out_row = out + (size_t)n * T_; // (T)
    T *dx_row = dx + (size_t)n * T_;                                            // (T)

    float dot = 0.0f;
    for (int j = lane * size; j < range.keys; j += step) {
        int count = range.keys - j;
        dot += vec_dot(keys_load(dout_row, j, count, aligned), keys_load(out_row, j, count, aligned));
    }
    dot = warp_sum(dot);

    for (int j = lane * size; j < range.end; j += step) {
        int count = range.keys - j, written = min(size, range.end - j);
        vec<T> d = keys_load(dout_row, j, count, aligned), y = keys_load(out_row, j, count, aligned);
        vec_store(dx_row + j, vec_gradient(d, y, dot, scale, count), written, aligned && written == size);
    }
}

// VECS: of a row of each tensor, in one lane.
template <class T, int VECS>
__global__ void causal_softmax_backward_kernel3(T *dx,                     // (N, T)
                                                const T *dout,             // (N, T)
                                                const T *__restrict__ out, // (N, T)
                                                const int *lengths,        // (B) or null
                                                int N, int H, int T_, float scale, int upper, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *dout_row = dout + (size_t)n * T_, *out_row = out + (size_t)n * T_; // (T)
    T *dx_row = dx + (size_t)n * T_;                                            // (T)

    vec<T> d[VECS] = {}, y[VECS] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int j = k * step + lane * size, count = range.keys - j;
        if (count > 0) {
            d[k] = keys_load(dout_row, j, count, aligned);
            y[k] = keys_load(out_row, j, count, aligned);
        }
    }

    float dot = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) { dot += vec_dot(d[k], y[k]); }
    dot = warp_sum(dot);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int j = k * step + lane * size, written = min(size, range.end - j);
        if (written > 0) {
            vec<T> result = vec_gradient(d[k], y[k], dot, scale, range.keys - j);
            vec_store(dx_row + j, result, written, aligned && written == size);
        }
    }
}

//:end
// ---- launchers ----

//:swap
// Rows that are too long for the registers of a kernel go to kernel 2.
//:stub
//: // Launches kernel `rung`.
//:end
template <class T>
static int launch_rung(int rung, T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_,
                       float scale, int upper, cudaStream_t stream) {
    CUDA_CHECK(check_matrices(B, H, T_, upper, {dx, dout, out}));
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (B == 0 || H == 0) { return cudaSuccess; }
    int N = B * H * T_, warp_blocks = (N - 1) / warps_per_block + 1;
    //:omit
    if (rung == 4) {
        int status = causal_softmax_backward_speed_of_light(dx, dout, out, lengths, N, H, T_, scale, upper, stream);
        if (status != cudaErrorNotSupported) { return status; }
    }
    if (rung >= 2 && rung <= 4) {
        bool aligned = rows_aligned<T>(T_, {dx, dout, out});
        int vecs = (T_ - 1) / (warp_size * vec<T>::size) + 1; // of a lane
        auto kernel = causal_softmax_backward_kernel2<T>;
        if (rung == 3 && vecs <= 8) {
            kernel = vecs <= 2   ? causal_softmax_backward_kernel3<T, 2>
                     : vecs <= 4 ? causal_softmax_backward_kernel3<T, 4>
                                 : causal_softmax_backward_kernel3<T, 8>;
        }
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(dx, dout, out, lengths, N, H, T_, scale, upper, aligned);
        CUDA_CHECK(cudaGetLastError());
        return cudaSuccess;
    }
    //:end
    if (rung != 1) { return cudaErrorInvalidValue; }
    causal_softmax_backward_kernel1<<<warp_blocks, threads_per_block, 0, stream>>>(dx, dout, out, lengths, N, H, T_,
                                                                                   scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                             \
    int name(T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, float scale, int upper,     \
             cudaStream_t stream) {                                                                                    \
        return launch_rung(chosen_kernel, dx, dout, out, lengths, B, H, T_, scale, upper, stream);                     \
    }                                                                                                                  \
    extern "C" int name##_rung(int rung, T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, \
                               float scale, int upper, cudaStream_t stream) {                                          \
        return launch_rung(rung, dx, dout, out, lengths, B, H, T_, scale, upper, stream);                              \
    }
LAUNCHERS(causal_softmax_backward_f32, float)
LAUNCHERS(causal_softmax_backward_f16, __half)
LAUNCHERS(causal_softmax_backward_bf16, __nv_bfloat16)

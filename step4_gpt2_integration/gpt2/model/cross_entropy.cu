// cross_entropy.cu — the loss and its gradient (cross_entropy.cuh)
//
// Purpose   The logits are the largest tensor of training: N Vp elements, 3.3 GB in fp32 for 124M and 16 x 1024 tokens. They are
//           computed a few rows at a time, and the gradient overwrites them.
// Bytes     Loss: logits read, 4 N V. Gradient: logits read, dlogits written, (4 + s) N Vp for elements of s bytes. 16384 rows of
//           50304 in bf16: 4.9 GB, 1.2 ms on an H200 at 4.2 TB/s, the speed of a copy.
// Kernels   cross_entropy: a block per row, by the online softmax
//           cross_entropy_backward: a block per row, which stays in registers. 512 threads of 25 vectors, 100 registers, hold
//           51200 floats, so an element is read once and needs one exponential. One row fills a multiprocessor, and all of its
//           loads are in flight at once. A row with a negative target is not read.
//           cross_entropy_backward_again: longer rows, and rows that are not 16-byte aligned; read twice, mostly from L2
#include "gpt2/model/cross_entropy.cuh"

#include "gpt2/model/vec16.cuh"

#include <cmath>

enum { warp_size = 32, threads_per_block = 128, gradient_threads = 256 };
enum { row_threads = 512, row_vecs = 25, longest_row = row_threads * row_vecs * 4 };

// The maximum or the sum of the threads' values, in every thread. shared: (threads / 32)
template <bool largest, int threads> __device__ inline float over_block(float value, float *shared) {
    constexpr int warp_size = 32, warps = threads / warp_size;
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < warps; w++) { value = largest ? fmaxf(value, shared[w]) : value + shared[w]; }
    __syncthreads();
    return value;
}

// exp(x) for x <= 0, in half the instructions of expf. The rounding of the product is a relative error of 6e-8 |x|.
__device__ inline float exp_of(float x) {
    return exp2f(1.44269504f * x);
}

struct row_sum {
    float largest, sum;
};

// Can rows of Vp elements be read 16 bytes at a time?
inline bool rows_aligned(const float *rows, int Vp) {
    return (size_t)rows % 16 == 0 && Vp % vec16<float>::size == 0;
}

// The maximum of a row (V), and the sum of exp(x - maximum), in one read. Each thread keeps the largest element so far and
// rescales its sum when a larger one comes. A thread has four loads of 16 bytes in flight. shared: (threads / 32)
template <int threads> __device__ inline row_sum sum_row(const float *row, int V, bool aligned, float *shared) {
    constexpr int each = vec16<float>::size, ahead = 4;
    float mine = -INFINITY, sum = 0.0f;
    for (int first = threadIdx.x * each; first < V; first += threads * each * ahead) {
        float x[ahead][each], most = -INFINITY;
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int at = first + i * threads * each;
            if (aligned && at + each <= V) {
                unpack(x[i], vec16_load(row + at));
            } else {
                for (int e = 0; e < each; e++) { x[i][e] = at + e < V ? row[at + e] : -INFINITY; }
            }
        }
#pragma unroll
        for (int i = 0; i < ahead * each; i++) { most = fmaxf(most, x[i / each][i % each]); }
        if (most > mine) { // seldom
            sum *= exp_of(mine - most);
            mine = most;
        }
        const float from = mine > -INFINITY ? mine : 0.0f; // -inf - -inf is NaN
#pragma unroll
        for (int i = 0; i < ahead * each; i++) { sum += exp_of(x[i / each][i % each] - from); }
    }
    const float largest = over_block<true, threads>(mine, shared);
    sum = over_block<false, threads>(mine > -INFINITY ? sum * exp_of(mine - largest) : sum, shared);
    return {largest, sum};
}

// A block per row.
__global__ void cross_entropy_kernel(float *__restrict__ losses,       // (N)
                                     const float *__restrict__ logits, // (N, Vp)
                                     const int *__restrict__ targets,  // (N)
                                     int V, int Vp, bool aligned) {
    __shared__ float shared[threads_per_block / warp_size];
    const float *row = logits + (size_t)blockIdx.x * Vp;
    const int target = targets[blockIdx.x];
    const row_sum total = sum_row<threads_per_block>(row, V, aligned, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = target < 0 ? 0.0f : logf(total.sum) + total.largest - row[target]; }
}

template <class T>
__global__ void __launch_bounds__(row_threads)
    cross_entropy_backward_kernel(float *losses,      // (N)
                                  float *logits,      // (N, Vp), and dlogits (N, Vp) of T over each row
                                  const int *targets, // (N)
                                  float scale, int V, int Vp) {
    constexpr int each = vec16<float>::size, step = row_threads * each;
    __shared__ float shared[row_threads / warp_size];
    const int target = targets[blockIdx.x], first = threadIdx.x * each;
    float *row = logits + (size_t)blockIdx.x * Vp;
    T *drow = (T *)row;
    if (target < 0) {
        const float zeros[each] = {};
        for (int v = first; v < Vp; v += step) { store_four(drow + v, zeros); }
        if (threadIdx.x == 0) { losses[blockIdx.x] = 0.0f; }
        return;
    }

    for (int v = V + threadIdx.x; v < Vp; v += row_threads) {
        row[v] = -INFINITY;
    } // the padding then needs no case of its own
    __syncthreads();
    const float wanted = row[target]; // read before the gradient overwrites the row
    float x[row_vecs][each], largest = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < row_vecs; i++) {
        const int v = first + i * step;
        for (int e = 0; e < each; e++) { x[i][e] = -INFINITY; }
        if (v < Vp) { unpack(x[i], vec16_load(row + v)); }
    }
#pragma unroll
    for (int i = 0; i < row_vecs * each; i++) { largest = fmaxf(largest, x[i / each][i % each]); }
    largest = over_block<true, row_threads>(largest, shared);
#pragma unroll
    for (int i = 0; i < row_vecs * each; i++) {
        float &p = x[i / each][i % each];
        p = exp_of(p - largest);
        sum += p;
    }
    sum = over_block<false, row_threads>(sum, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = logf(sum) + largest - wanted; }

    const float factor = scale / sum;
#pragma unroll
    for (int i = 0; i < row_vecs; i++) {
        const int v = first + i * step;
        for (int e = 0; e < each; e++) { x[i][e] *= factor; }
        if (v < Vp) { store_four(drow + v, x[i]); }
    }
    if (threadIdx.x == target / each % row_threads) { // the thread that has just written it
        drow[target] = from_float<T>(exp_of(wanted - largest) * factor - scale);
    }
}

template <class T>
__global__ void cross_entropy_backward_again_kernel(float *losses, // (N)
                                                    float *logits, // (N, Vp), and dlogits (N, Vp) of T over each row
                                                    const int *targets, // (N)
                                                    float scale, int V, int Vp, bool aligned) {
    __shared__ float shared[gradient_threads / warp_size];
    float *row = logits + (size_t)blockIdx.x * Vp;
    T *drow = (T *)row;
    const int target = targets[blockIdx.x];
    const row_sum total = sum_row<gradient_threads>(row, V, aligned, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = target < 0 ? 0.0f : logf(total.sum) + total.largest - row[target]; }

    // All threads read a tile before one writes, and elements of T are written at or before the floats that have been read.
    const float factor = scale / total.sum;
    for (int first = 0; first < Vp; first += blockDim.x) {
        int v = first + threadIdx.x;
        float d = 0.0f;
        if (v < V && target >= 0) { d = exp_of(row[v] - total.largest) * factor - (v == target ? scale : 0.0f); }
        __syncthreads();
        if (v < Vp) { drow[v] = from_float<T>(d); }
    }
}

int cross_entropy(gpt2_device &device, float *losses, const float *logits, const int *targets, int N, int V, int Vp) {
    cross_entropy_kernel<<<(unsigned)N, threads_per_block, 0, device.stream>>>(losses, logits, targets, V, Vp,
                                                                               rows_aligned(logits, Vp));
    return cudaGetLastError();
}

template <class T>
int cross_entropy_backward(gpt2_device &device, float *losses, float *logits, const int *targets, float scale, int N,
                           int V, int Vp) {
    const bool aligned = rows_aligned(logits, Vp);
    if (aligned && Vp <= longest_row) {
        cross_entropy_backward_kernel<T>
            <<<(unsigned)N, row_threads, 0, device.stream>>>(losses, logits, targets, scale, V, Vp);
    } else {
        cross_entropy_backward_again_kernel<T>
            <<<(unsigned)N, gradient_threads, 0, device.stream>>>(losses, logits, targets, scale, V, Vp, aligned);
    }
    return cudaGetLastError();
}

#define INSTANTIATE(T) \
    template int cross_entropy_backward<T>(gpt2_device &, float *, float *, const int *, float, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

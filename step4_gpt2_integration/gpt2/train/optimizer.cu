// optimizer.cu — global norm and AdamW (optimizer.cuh)
//
// Purpose   One step of training, from the gradients. Master weights are fp32: a step changes a weight by about 1e-4 of its
//           value, and bf16 has 8 bits, so most changes would be lost by rounding.
// Math      g = gradient * min(1, clip / norm)            norm over all parameters
//           m = beta1 m + (1 - beta1) g                   v = beta2 v + (1 - beta2) g^2
//           w = w - lr (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + decay w)      decay: matrices only
// Bytes     norm: 4 an element. AdamW: w, m, v read and written, g read, 28 an element, and the rounded weights, 2 with bf16.
//           124M: 3.7 GB, 0.8 ms on an H200 at 4.8 TB/s, 0.9 ms at 4.2 TB/s, the speed of a copy.
// Kernels   squares: a block adds every gridDim.x-th part of the array, in an order that depends on the count alone
//           root: one block adds the blocks' sums      round: a thread per element
//           join: one thread adds the squares of the ranks' norms, where each has the gradients of a part
//           adamw: a thread per 4 elements. Its four loads of 16 bytes are in flight before the first wait. One thread of a block
//           loads the norm. Elements are independent of each other, so the bits do not depend on the launch.
#include "gpt2/train/optimizer.cuh"

#include "gpt2/model/vec16.cuh"

#include <algorithm>
#include <cmath>

enum { threads_per_block = 256 };

// The sum of the threads' values, in thread 0 of the block, by a tree in shared memory.
__device__ static double block_sum(double value) {
    __shared__ double shared[threads_per_block];
    shared[threadIdx.x] = value;
    for (int half = threads_per_block / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) { shared[threadIdx.x] += shared[threadIdx.x + half]; }
    }
    return threadIdx.x == 0 ? shared[0] : 0.0;
}

__global__ static void squares_kernel(double *__restrict__ partial,        // (gridDim.x)
                                      const float *__restrict__ gradients, // (count)
                                      int64_t count) {
    double sum = 0.0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        sum += (double)gradients[i] * (double)gradients[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) { partial[blockIdx.x] = sum; }
}

__global__ static void root_kernel(double *norm, const double *__restrict__ partial, int parts) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < parts; i += threads_per_block) { sum += partial[i]; }
    sum = block_sum(sum);
    if (threadIdx.x == 0) { *norm = sqrt(sum); }
}

__global__ static void join_kernel(double *norm, const double *__restrict__ norms, int ranks) {
    double sum = 0.0;
    for (int r = 0; r < ranks; r++) { sum += norms[r] * norms[r]; }
    *norm = sqrt(sum);
}

// The factors that all elements share.
struct adamw_step {
    float rate, beta1, beta2, epsilon, decay, clip;
    float rest1, rest2;             // 1 - beta
    float correction1, correction2; // 1 / (1 - beta^step)
};

template <class T>
__global__ void adamw_kernel(T *__restrict__ weights,             // (count) or null
                             float *__restrict__ master,          // (count)
                             const float *__restrict__ gradients, // (count)
                             float *__restrict__ moment1,         // (count)
                             float *__restrict__ moment2,         // (count)
                             const double *__restrict__ norm, int64_t count, int64_t matrices, adamw_step s) {
    constexpr int each = vec16<float>::size;
    __shared__ float factor; // of the gradients; negative: their norm is not finite
    const int64_t i = each * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    vec16<float> w_read = {}, g_read = {}, m_read = {}, v_read = {};
    if (i < count) {
        w_read = vec16_load(master + i), g_read = vec16_load(gradients + i);
        m_read = vec16_load(moment1 + i), v_read = vec16_load(moment2 + i);
    }
    if (threadIdx.x == 0) {
        float length = (float)*norm;
        factor = !isfinite(length) ? -1.0f : length > s.clip ? s.clip / length : 1.0f;
    }
    __syncthreads();
    if (i >= count || factor < 0.0f) { return; }

    float w[each], g[each], m[each], v[each];
    unpack(w, w_read), unpack(g, g_read), unpack(m, m_read), unpack(v, v_read);
    const float decay = i < matrices ? s.decay : 0.0f;
#pragma unroll
    for (int e = 0; e < each; e++) {
        g[e] *= factor;
        m[e] = s.beta1 * m[e] + s.rest1 * g[e];
        v[e] = s.beta2 * v[e] + s.rest2 * g[e] * g[e];
        float step = m[e] * s.correction1 / (sqrtf(v[e] * s.correction2) + s.epsilon);
        w[e] -= s.rate * (step + decay * w[e]);
    }
    store_four(moment1 + i, m);
    store_four(moment2 + i, v);
    store_four(master + i, w);
    if (weights != nullptr) { store_four(weights + i, w); }
}

template <class T>
__global__ void round_kernel(T *__restrict__ weights, const float *__restrict__ master, int64_t count) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { weights[i] = from_float<T>(master[i]); }
}

int gradient_norm(gpt2_device &device, double *norm, double *partial, const float *gradients, int64_t count) {
    constexpr int64_t each = 16 * threads_per_block; // the fewest elements of a block
    const int parts = (int)std::clamp<int64_t>((count + each - 1) / each, 1, norm_most_parts);
    squares_kernel<<<(unsigned)parts, threads_per_block, 0, device.stream>>>(partial, gradients, count);
    TRY(cudaGetLastError());
    root_kernel<<<1, threads_per_block, 0, device.stream>>>(norm, partial, parts);
    return cudaGetLastError();
}

int join_norms(gpt2_device &device, double *norm, const double *norms, int ranks) {
    join_kernel<<<1, 1, 0, device.stream>>>(norm, norms, ranks);
    return cudaGetLastError();
}

template <class T>
int adamw(gpt2_device &device, T *weights, float *master, const float *gradients, float *m, float *v, int64_t count,
          int64_t matrices, const gpt2_adamw &settings, int64_t step, const double *norm) {
    constexpr int each = vec16<float>::size;
    if (count % each != 0 || matrices % each != 0) { return cudaErrorInvalidValue; }
    adamw_step s = {};
    s.rate = (float)settings.rate;
    s.beta1 = (float)settings.beta1, s.beta2 = (float)settings.beta2;
    s.rest1 = (float)(1.0 - settings.beta1), s.rest2 = (float)(1.0 - settings.beta2);
    s.epsilon = (float)settings.epsilon;
    s.decay = (float)settings.decay;
    s.clip = settings.clip > 0.0 ? (float)settings.clip : INFINITY;
    s.correction1 = (float)(1.0 / (1.0 - pow(settings.beta1, (double)step)));
    s.correction2 = (float)(1.0 / (1.0 - pow(settings.beta2, (double)step)));
    adamw_kernel<<<blocks_of(count / each, threads_per_block), threads_per_block, 0, device.stream>>>(
        weights, master, gradients, m, v, norm, count, matrices, s);
    return cudaGetLastError();
}

template <class T> int round_weights(gpt2_device &device, T *weights, const float *master, int64_t count) {
    round_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(weights, master, count);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                 \
    template int adamw(gpt2_device &, T *, float *, const float *, float *, float *, int64_t, int64_t, \
                       const gpt2_adamw &, int64_t, const double *);                                   \
    template int round_weights(gpt2_device &, T *, const float *, int64_t);
INSTANTIATE(float)
INSTANTIATE(__nv_bfloat16)

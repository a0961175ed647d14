// optimizer.cu — global norm and AdamW (optimizer.cuh)
//
// Purpose   One step of training, once the gradients are there. Master weights are fp32: a step changes a weight by about the
//           learning rate, 1e-4 of what it is, and bf16 has 8 bits, so most steps would round to nothing.
// Math      g = gradient * min(1, clip / norm)            norm over all parameters
//           m = beta1 m + (1 - beta1) g                   v = beta2 v + (1 - beta2) g^2
//           w = w - lr (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + decay w)      decay: matrices only
// Bytes     norm: 4 an element. AdamW: w, g, m, v read and written, 32 an element, and the rounded weights, 2 with bf16. 124M: 4.2 GB,
//           0.9 ms on an H200 (4.8 TB/s).
// Kernels   squares: a block sums every gridDim.x-th stretch of the array, in an order that the count alone decides
//           root: one block adds the blocks' sums      adamw, round: a thread per element
#include "gpt2/train/optimizer.cuh"

#include <algorithm>
#include <cmath>

enum { threads_per_block = 256 };

// Every thread's value; the block's first thread gets the sum. Halves of the block meet, again and again.
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

// What is the same for all elements.
struct adamw_step {
    float rate, beta1, beta2, epsilon, decay, clip;
    float correction1, correction2; // 1 / (1 - beta^step)
};

template <class T>
__global__ void adamw_kernel(T *__restrict__ weights,       // (count) or null
                             float *__restrict__ master,    // (count)
                             float *__restrict__ gradients, // (count)
                             float *__restrict__ m,         // (count)
                             float *__restrict__ v,         // (count)
                             const double *__restrict__ norm, int64_t count, int64_t matrices, adamw_step s) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    float length = (float)*norm, g = gradients[i];
    gradients[i] = 0.0f;
    if (!isfinite(length)) { return; }
    if (length > s.clip) { g *= s.clip / length; }
    float m_new = s.beta1 * m[i] + (1.0f - s.beta1) * g, v_new = s.beta2 * v[i] + (1.0f - s.beta2) * g * g;
    float step = m_new * s.correction1 / (sqrtf(v_new * s.correction2) + s.epsilon);
    float decayed = i < matrices ? s.decay * master[i] : 0.0f;
    float w = master[i] - s.rate * (step + decayed);
    m[i] = m_new;
    v[i] = v_new;
    master[i] = w;
    if (weights != nullptr) { weights[i] = from_float<T>(w); }
}

template <class T>
__global__ void round_kernel(T *__restrict__ weights, const float *__restrict__ master, int64_t count) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { weights[i] = from_float<T>(master[i]); }
}

int gradient_norm(gpt2_device &device, double *norm, double *partial, const float *gradients, int64_t count) {
    constexpr int64_t each = 16 * threads_per_block; // a block's work, at least
    const int parts = (int)std::clamp<int64_t>((count + each - 1) / each, 1, norm_most_parts);
    squares_kernel<<<(unsigned)parts, threads_per_block, 0, device.stream>>>(partial, gradients, count);
    TRY(cudaGetLastError());
    root_kernel<<<1, threads_per_block, 0, device.stream>>>(norm, partial, parts);
    return cudaGetLastError();
}

template <class T>
int adamw(gpt2_device &device, T *weights, float *master, float *gradients, float *m, float *v, int64_t count,
          int64_t matrices, const gpt2_adamw &settings, int64_t step, const double *norm) {
    adamw_step s = {};
    s.rate = (float)settings.rate;
    s.beta1 = (float)settings.beta1, s.beta2 = (float)settings.beta2;
    s.epsilon = (float)settings.epsilon;
    s.decay = (float)settings.decay;
    s.clip = settings.clip > 0.0 ? (float)settings.clip : INFINITY;
    s.correction1 = (float)(1.0 / (1.0 - pow(settings.beta1, (double)step)));
    s.correction2 = (float)(1.0 / (1.0 - pow(settings.beta2, (double)step)));
    adamw_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(
        weights, master, gradients, m, v, norm, count, matrices, s);
    return cudaGetLastError();
}

template <class T> int round_weights(gpt2_device &device, T *weights, const float *master, int64_t count) {
    round_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(weights, master, count);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                               \
    template int adamw(gpt2_device &, T *, float *, float *, float *, float *, int64_t, int64_t, const gpt2_adamw &, \
                       int64_t, const double *);                                                                     \
    template int round_weights(gpt2_device &, T *, const float *, int64_t);
INSTANTIATE(float)
INSTANTIATE(__nv_bfloat16)

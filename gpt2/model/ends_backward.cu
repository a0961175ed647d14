// ends_backward.cu — the gradients of the loss and of the embeddings (ends_backward.cuh)
//
// Purpose   The logits are the largest tensor of training: N Vp elements, 3.3 GB in fp32 for 124M and 16 x 1024 tokens. They come
//           a few rows at a time, and their gradient is written over them. The embeddings' gradient is a sum over all
//           places where a token stands; with atomics its order, and so its bits, would change from run to run.
// Math      ends_backward.cuh
// Bytes     loss: logits read twice (the second time mostly from L2), dlogits written: (8 + s) N Vp. Tokens: d once and a row of
//           dtoken for each token that is there, read and written. Positions: d once.
// Kernels   cross_entropy_backward: a block per row; each thread keeps a maximum and a sum of its own, which then meet
//           embed_tokens: a block per token that is there, a thread per channel      embed_positions: a thread per element
#include "gpt2/model/ends_backward.cuh"

#include <cmath>

enum { threads_per_block = 256, warp_size = 32, warps = threads_per_block / warp_size };

// The largest of, or the sum of, the threads' values; every thread gets it. shared: (warps)
template <bool largest> __device__ static float over_block(float value, float *shared) {
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

template <class T>
__global__ void cross_entropy_backward_kernel(float *losses,      // (N)
                                              float *logits,      // (N, Vp), and dlogits (N, Vp) of T over each row
                                              const int *targets, // (N)
                                              float scale, int V, int Vp) {
    __shared__ float shared[warps];
    float *row = logits + (size_t)blockIdx.x * Vp;
    T *drow = (T *)row;
    int target = targets[blockIdx.x];

    float mine = -INFINITY, sum = 0.0f; // the largest logit of this thread, and the sum of exp(logit - largest)
    for (int v = threadIdx.x; v < V; v += blockDim.x) {
        float x = row[v];
        if (x > mine) { // seldom
            sum *= expf(mine - x);
            mine = x;
        }
        sum += expf(x - mine);
    }
    float largest = over_block<true>(mine, shared);
    sum = over_block<false>(mine > -INFINITY ? sum * expf(mine - largest) : sum, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = target < 0 ? 0.0f : logf(sum) + largest - row[target]; }

    // A tile is read by all before anyone writes, and what is written, of T, is at or before what has been read, of float.
    for (int first = 0; first < Vp; first += blockDim.x) {
        int v = first + threadIdx.x;
        float d = 0.0f;
        if (v < V && target >= 0) { d = scale * (expf(row[v] - largest) / sum - (v == target ? 1.0f : 0.0f)); }
        __syncthreads();
        if (v < Vp) { drow[v] = from_float<T>(d); }
    }
}

template <class T>
__global__ void embed_tokens_kernel(float *__restrict__ dtoken,     // (V, C)
                                    const T *__restrict__ d,        // (N, C)
                                    const int *__restrict__ tokens, // (N)
                                    const int *__restrict__ order,  // (N)
                                    const int *__restrict__ starts, // (runs + 1), runs = gridDim.x
                                    int C) {
    int c = blockIdx.y * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    int first = starts[blockIdx.x], end = starts[blockIdx.x + 1];
    float sum = 0.0f;
    for (int i = first; i < end; i++) { sum += to_float(d[(size_t)order[i] * C + c]); }
    dtoken[(size_t)tokens[order[first]] * C + c] += sum;
}

template <class T>
__global__ void embed_positions_kernel(float *__restrict__ dposition, // (T, C)
                                       const T *__restrict__ d,       // (B, T, C)
                                       int64_t count, int B) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    float sum = 0.0f;
    for (int b = 0; b < B; b++) { sum += to_float(d[b * count + i]); }
    dposition[i] += sum;
}

token_runs token_runs_of(const int32_t *tokens, int N, int V) {
    token_runs runs;
    std::vector<int> next((size_t)V + 1, 0); // where the next row with this token goes
    for (int n = 0; n < N; n++) { next[(size_t)tokens[n] + 1]++; }
    for (int v = 0; v < V; v++) {
        if (next[(size_t)v + 1] > 0) { runs.starts.push_back(next[(size_t)v]); }
        next[(size_t)v + 1] += next[(size_t)v];
    }
    runs.starts.push_back(N);
    runs.order.resize((size_t)N);
    for (int n = 0; n < N; n++) { runs.order[(size_t)next[(size_t)tokens[n]]++] = n; }
    return runs;
}

template <class T>
int cross_entropy_backward(gpt2_device &device, float *losses, float *logits, const int *targets, float scale, int N,
                           int V, int Vp) {
    cross_entropy_backward_kernel<T>
        <<<(unsigned)N, threads_per_block, 0, device.stream>>>(losses, logits, targets, scale, V, Vp);
    return cudaGetLastError();
}

template <class T>
int embed_backward(gpt2_device &device, float *dtoken, float *dposition, const T *d, const int *tokens,
                   const int *order, const int *starts, int runs, int B, int T_, int C) {
    const unsigned across = (unsigned)((C + threads_per_block - 1) / threads_per_block);
    embed_tokens_kernel<<<dim3((unsigned)runs, across), threads_per_block, 0, device.stream>>>(dtoken, d, tokens, order,
                                                                                               starts, C);
    TRY(cudaGetLastError());
    const int64_t count = (int64_t)T_ * C;
    const unsigned blocks = (unsigned)((count + threads_per_block - 1) / threads_per_block);
    embed_positions_kernel<<<blocks, threads_per_block, 0, device.stream>>>(dposition, d, count, B);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                             \
    template int cross_entropy_backward<T>(gpt2_device &, float *, float *, const int *, float, int, int, int);    \
    template int embed_backward(gpt2_device &, float *, float *, const T *, const int *, const int *, const int *, \
                                int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

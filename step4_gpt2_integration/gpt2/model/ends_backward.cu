// ends_backward.cu — the gradients of the loss and of the embeddings (ends_backward.cuh)
//
// Purpose   The logits are the largest tensor of training: N Vp elements, 3.3 GB in fp32 for 124M and 16 x 1024 tokens. They come
//           a few rows at a time, and their gradient is written over them. The embeddings' gradient is a sum over all
//           places where a token stands; with atomics its order, and so its bits, would change from run to run.
// Math      ends_backward.cuh
// Bytes     loss: logits read, dlogits written: (4 + s) N Vp for elements of s bytes. 16384 rows of 50304 in bf16: 4.9
//           GB, 1.2 ms on an H200 at the 4.2 TB/s that copies reach. Tokens: d once and a row of dtoken for each token
//           that is there, read and written. Positions: d once.
// Kernels   cross_entropy_backward: a block per row, which waits in registers: 512 threads of 25 pieces, 100 registers,
//           hold 51200 floats, so an element is read once and needs one exponential. One row fills a multiprocessor;
//           all of it is on its way at once. An ignored row is not read.
//           cross_entropy_backward_again: longer rows, and rows that are no pieces: read twice, then mostly from L2
//           embed_tokens: a block per token that is there, a thread per channel      embed_positions: a thread per element
#include "gpt2/model/ends_backward.cuh"

#include "gpt2/model/softmax_row.cuh"

enum { threads_per_block = 256, warp_size = 32 };
enum { row_threads = 512, row_pieces = 25, longest_row = row_threads * row_pieces * 4 };

template <class T>
__global__ void __launch_bounds__(row_threads)
    cross_entropy_backward_kernel(float *losses,      // (N)
                                  float *logits,      // (N, Vp), and dlogits (N, Vp) of T over each row
                                  const int *targets, // (N)
                                  float scale, int V, int Vp) {
    constexpr int each = piece<float>::size, step = row_threads * each;
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

    for (int v = V + threadIdx.x; v < Vp; v += row_threads) { row[v] = -INFINITY; } // then they are like the others
    __syncthreads();
    const float wanted = row[target]; // like all of the row, before anything is written over it
    float x[row_pieces][each], largest = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < row_pieces; i++) {
        const int v = first + i * step;
        for (int e = 0; e < each; e++) { x[i][e] = -INFINITY; }
        if (v < Vp) { unpack(x[i], load_piece(row + v)); }
    }
#pragma unroll
    for (int i = 0; i < row_pieces * each; i++) { largest = fmaxf(largest, x[i / each][i % each]); }
    largest = over_block<true, row_threads>(largest, shared);
#pragma unroll
    for (int i = 0; i < row_pieces * each; i++) {
        float &p = x[i / each][i % each];
        p = exp_of(p - largest);
        sum += p;
    }
    sum = over_block<false, row_threads>(sum, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = logf(sum) + largest - wanted; }

    const float factor = scale / sum;
#pragma unroll
    for (int i = 0; i < row_pieces; i++) {
        const int v = first + i * step;
        for (int e = 0; e < each; e++) { x[i][e] *= factor; }
        if (v < Vp) { store_four(drow + v, x[i]); }
    }
    if (threadIdx.x == target / each % row_threads) { // who has just written it
        drow[target] = from_float<T>(exp_of(wanted - largest) * factor - scale);
    }
}

template <class T>
__global__ void cross_entropy_backward_again_kernel(float *losses, // (N)
                                                    float *logits, // (N, Vp), and dlogits (N, Vp) of T over each row
                                                    const int *targets, // (N)
                                                    float scale, int V, int Vp, bool of_pieces) {
    __shared__ float shared[threads_per_block / warp_size];
    float *row = logits + (size_t)blockIdx.x * Vp;
    T *drow = (T *)row;
    const int target = targets[blockIdx.x];
    const row_sum total = sum_row<threads_per_block>(row, V, of_pieces, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = target < 0 ? 0.0f : logf(total.sum) + total.largest - row[target]; }

    // A tile is read by all before anyone writes, and what is written, of T, is at or before what has been read, of float.
    const float factor = scale / total.sum;
    for (int first = 0; first < Vp; first += blockDim.x) {
        int v = first + threadIdx.x;
        float d = 0.0f;
        if (v < V && target >= 0) { d = exp_of(row[v] - total.largest) * factor - (v == target ? scale : 0.0f); }
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
    const bool of_pieces = rows_of_pieces(logits, Vp);
    if (of_pieces && Vp <= longest_row) {
        cross_entropy_backward_kernel<T>
            <<<(unsigned)N, row_threads, 0, device.stream>>>(losses, logits, targets, scale, V, Vp);
    } else {
        cross_entropy_backward_again_kernel<T>
            <<<(unsigned)N, threads_per_block, 0, device.stream>>>(losses, logits, targets, scale, V, Vp, of_pieces);
    }
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

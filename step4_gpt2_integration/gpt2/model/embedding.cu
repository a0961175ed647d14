// embedding.cu — the embedding and its gradient (embedding.cuh)
//
// Purpose   The gradient is a sum over all places where a token stands. With atomics the order of the sum, and so its bits, would
//           change from run to run. Here the rows are sorted by token first, on the host.
// Bytes     The gradient reads d once for the tokens and once for the positions. It reads and writes one row of dtoken for each
//           token that occurs.
// Kernels   embed: a block per row, without a division for each element      last_rows, advance: a thread per element
//           embed_tokens: a block per token that occurs, a thread per channel      embed_positions: a thread per element
#include "gpt2/model/embedding.cuh"

enum { threads_per_block = 128, gradient_threads = 256 };

template <class T>
__global__ void embed_kernel(T *__restrict__ out,                      // (B, T, C)
                             const lookup_table<T> token_embedding,    // (Vp, C)
                             const T *__restrict__ position_embedding, // (maxT, C)
                             const int *__restrict__ tokens,           // (B, T)
                             const int *__restrict__ positions,        // (B) or null
                             int T_, int C) {
    const int64_t row = blockIdx.x;
    const int b = blockIdx.x / T_, t = blockIdx.x % T_, token = max(tokens[row], 0);
    const int64_t position = t + (positions != nullptr ? positions[b] : 0);
    for (int c = threadIdx.x; c < C; c += threads_per_block) {
        const float sum = token_embedding.at(token, c) + to_float(position_embedding[position * C + c]);
        out[row * C + c] = from_float<T>(sum);
    }
}

template <class T>
__global__ void last_rows_kernel(T *__restrict__ out,     // (B, C)
                                 const T *__restrict__ x, // (B, T, C)
                                 const int *__restrict__ lengths, int64_t count, int T_, int C) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int64_t b = i / C;
    out[i] = x[(b * T_ + lengths[b] - 1) * C + i % C];
}

__global__ void advance_kernel(int *positions, const int *tokens, int B, int S) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < B && tokens[b] >= 0 && positions[b] + 1 < S) { positions[b]++; }
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
int embed(gpt2_device &device, T *out, const lookup_table<T> &token_embedding, const T *position_embedding,
          const int *tokens, const int *positions, int B, int T_, int C) {
    embed_kernel<<<(unsigned)(B * T_), threads_per_block, 0, device.stream>>>(out, token_embedding, position_embedding,
                                                                              tokens, positions, T_, C);
    return cudaGetLastError();
}

template <class T> int last_rows(gpt2_device &device, T *out, const T *x, const int *lengths, int B, int T_, int C) {
    const int64_t count = (int64_t)B * C;
    last_rows_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(out, x, lengths,
                                                                                                   count, T_, C);
    return cudaGetLastError();
}

int advance(gpt2_device &device, int *positions, const int *tokens, int B, int S) {
    advance_kernel<<<blocks_of(B, threads_per_block), threads_per_block, 0, device.stream>>>(positions, tokens, B, S);
    return cudaGetLastError();
}

template <class T>
int embed_backward(gpt2_device &device, float *dtoken, float *dposition, const T *d, const int *tokens,
                   const int *order, const int *starts, int runs, int B, int T_, int C) {
    const unsigned across = (unsigned)((C + gradient_threads - 1) / gradient_threads);
    embed_tokens_kernel<<<dim3((unsigned)runs, across), gradient_threads, 0, device.stream>>>(dtoken, d, tokens, order,
                                                                                              starts, C);
    TRY(cudaGetLastError());
    const int64_t count = (int64_t)T_ * C;
    const unsigned blocks = (unsigned)((count + gradient_threads - 1) / gradient_threads);
    embed_positions_kernel<<<blocks, gradient_threads, 0, device.stream>>>(dposition, d, count, B);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                             \
    template int embed(gpt2_device &, T *, const lookup_table<T> &, const T *, const int *, const int *, int, int, \
                       int);                                                                                       \
    template int last_rows(gpt2_device &, T *, const T *, const int *, int, int, int);                             \
    template int embed_backward(gpt2_device &, float *, float *, const T *, const int *, const int *, const int *, \
                                int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

// ends.cu — embedding, picking rows, counting positions, losses (ends.cuh)
#include "gpt2/model/ends.cuh"

#include "gpt2/model/softmax_row.cuh"

enum { threads_per_block = 128, warp_size = 32 };

// A thread per element.
template <class T>
__global__ void embed_kernel(T *__restrict__ out,                      // (B, T, C)
                             const T *__restrict__ token_embedding,    // (Vp, C)
                             const T *__restrict__ position_embedding, // (maxT, C)
                             const int *__restrict__ tokens,           // (B, T)
                             const int *__restrict__ positions,        // (B) or null
                             int64_t count, int T_, int C) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int64_t row = i / C;
    int c = (int)(i % C), t = (int)(row % T_), token = max(tokens[row], 0);
    int position = t + (positions != nullptr ? positions[row / T_] : 0);
    out[i] = from_float<T>(to_float(token_embedding[(int64_t)token * C + c]) +
                           to_float(position_embedding[(int64_t)position * C + c]));
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

// A block per row, which is read once: 4 Vp bytes.
__global__ void cross_entropy_kernel(float *__restrict__ losses,       // (N)
                                     const float *__restrict__ logits, // (N, Vp)
                                     const int *__restrict__ targets,  // (N)
                                     int V, int Vp, bool of_pieces) {
    __shared__ float shared[threads_per_block / warp_size];
    const float *row = logits + (size_t)blockIdx.x * Vp;
    const int target = targets[blockIdx.x];
    const row_sum total = sum_row<threads_per_block>(row, V, of_pieces, shared);
    if (threadIdx.x == 0) { losses[blockIdx.x] = target < 0 ? 0.0f : logf(total.sum) + total.largest - row[target]; }
}

template <class T>
int embed(gpt2_device &device, T *out, const T *token_embedding, const T *position_embedding, const int *tokens,
          const int *positions, int B, int T_, int C) {
    const int64_t count = (int64_t)B * T_ * C;
    embed_kernel<<<blocks_of(count, threads_per_block), threads_per_block, 0, device.stream>>>(
        out, token_embedding, position_embedding, tokens, positions, count, T_, C);
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

int cross_entropy(gpt2_device &device, float *losses, const float *logits, const int *targets, int N, int V, int Vp) {
    cross_entropy_kernel<<<(unsigned)N, threads_per_block, 0, device.stream>>>(losses, logits, targets, V, Vp,
                                                                               rows_of_pieces(logits, Vp));
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                     \
    template int embed(gpt2_device &, T *, const T *, const T *, const int *, const int *, int, int, int); \
    template int last_rows(gpt2_device &, T *, const T *, const int *, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

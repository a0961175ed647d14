// greedy.cu — the likeliest token and its embedding, in one kernel (greedy.cuh)
//
// Purpose   A decoding step begins with a token. If the host chose it, each step would wait for a copy of 200 KB of logits and for a
//           launch. Chosen on the device, steps are queued, and the host reads the tokens at the end.
// Bytes     4 V a sequence from L2, which still holds the logits, and 3 s C for elements of s bytes: 0.2 MB for 124M.
// Kernel    begin_step_kernel<T>: a block for each sequence. A thread keeps the largest of its logits, of equal ones the first; the
//           block reduces them. A thread has 16 loads in flight; with one the kernel took 31 us on an H200. More blocks would
//           need a second launch, which costs what they save.
#include "gpt2/model/greedy.cuh"

#include "common/dependent_launch.cuh"
#include "gpt2/model/candidate.cuh"

#include <vector>

enum { threads_per_block = 1024, few_threads = 128, together = 16 };

// The best of this thread's elements of row[0..count-1], with `together` loads in flight.
__device__ static candidate best_of_thread(const float *row, int count) {
    candidate mine = no_candidate;
    for (int first = threadIdx.x; first < count; first += together * blockDim.x) {
        float value[together];
#pragma unroll
        for (int i = 0; i < together; i++) {
            int v = first + i * (int)blockDim.x;
            value[i] = v < count ? row[v] : -INFINITY;
        }
#pragma unroll
        for (int i = 0; i < together; i++) {
            int v = first + i * (int)blockDim.x;
            if (v < count) { mine = better(mine, {value[i], v}); }
        }
    }
    return mine;
}

// What earlier kernels write (tokens, logits, positions) is not __restrict__: such loads may be moved before the wait.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    begin_step_kernel(T *__restrict__ out,                      // (B, C) or null
                      int *tokens,                              // (B)
                      greedy_state state,                       // all null: the tokens are given
                      const float *logits,                      // (B, Vp)
                      const lookup_table<T> token_embedding,    // (Vp, C)
                      const T *__restrict__ position_embedding, // (maxT, C)
                      const int *positions,                     // (B)
                      int C, int Vp, int S) {
    __shared__ candidate shared[threads_per_block / warp_size];
    __shared__ int chosen;
    wait_for_previous_kernel();
    const int b = blockIdx.x;
    if (state.left != nullptr) {
        const float *row = logits + (int64_t)b * Vp;
        const int choices = state.settings[0], stop = state.settings[1];
        candidate mine = best_of_block(best_of_thread(row, choices), shared);
        if (threadIdx.x == 0) {
            bool rests = state.left[b] == 0, broken = mine.value != mine.value;
            int token = rests ? -1 : broken ? (int)no_token : mine.id;
            state.chosen[(int64_t)b * S + state.count[b]++] = token;
            bool ends = token == stop || broken;
            state.left[b] = rests || ends ? 0 : state.left[b] - 1;
            tokens[b] = chosen = rests || ends ? -1 : token;
        }
    } else if (threadIdx.x == 0) {
        chosen = tokens[b];
    }
    if (out == nullptr) { return; }
    __syncthreads();
    let_next_kernel_start();
    const T *position = position_embedding + (int64_t)positions[b] * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        out[(int64_t)b * C + c] = from_float<T>(token_embedding.at(max(chosen, 0), c) + to_float(position[c]));
    }
}

int greedy_begin(gpt2_device &device, greedy_state &state, int choices, int stop, const int *left, int B) {
    const int settings[] = {choices, stop};
    TRY(cudaMemcpyAsync(state.settings, settings, sizeof settings, cudaMemcpyHostToDevice, device.stream));
    TRY(cudaMemcpyAsync(state.left, left, (size_t)B * sizeof(int), cudaMemcpyHostToDevice, device.stream));
    return cudaMemsetAsync(state.count, 0, (size_t)B * sizeof(int), device.stream);
}

template <class T>
int begin_step(gpt2_device &device, T *out, int *tokens, const greedy_state *state, const float *logits,
               const lookup_table<T> &token_embedding, const T *position_embedding, const int *positions, int B, int C,
               int Vp, int S) {
    const unsigned threads = state != nullptr ? threads_per_block : few_threads;
    return launch({(unsigned)B, threads, device.stream}, begin_step_kernel<T>, out, tokens,
                  state != nullptr ? *state : greedy_state{}, logits, token_embedding, position_embedding, positions, C,
                  Vp, S);
}

#define INSTANTIATE(T)                                                                                               \
    template int begin_step(gpt2_device &, T *, int *, const greedy_state *, const float *, const lookup_table<T> &, \
                            const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

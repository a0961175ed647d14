// choice.cu — the next token and its embedding, in one kernel (choice.cuh)
//
// Purpose   A decoding step begins with a token. If the host chose it, each step would wait for a copy of 200 KB of logits and
//           for a launch. Chosen on the device, steps are queued, and the host reads the tokens at the end.
// Bytes     4 V a sequence from L2, which still holds the logits, and 3 s C for elements of s bytes: 0.2 MB for 124M. A draw
//           reads the logits once more, and then their weights (sampling.cuh).
// Kernel    begin_step_kernel<T>: a block for each sequence. A thread keeps the largest of its logits, of equal ones the first;
//           the block reduces them. A thread has 16 loads in flight; with one the kernel took 31 us on an H200. More blocks
//           would need a second launch, which costs what they save. With a temperature the block writes each logit's weight in
//           its place, and draws.
#include "gpt2/model/choice.cuh"

#include "common/dependent_launch.cuh"
#include "gpt2/model/candidate.cuh"
#include "gpt2/model/sampling.cuh"

#include <cmath>
#include <vector>

#if defined(SIMT_CPU_BACKEND)
constexpr int threads_per_block =
    digits; // the least of block_draw: a thread is a fiber there, and each barrier switches all of them
#else
constexpr int threads_per_block = 1024;
#endif
constexpr int few_threads = 128, together = 16;

// The best of this thread's elements of row[0..count-1], with `together` loads in flight.
__device__ static candidate best_of_thread(const float *row, int count, const uint8_t *seen, double penalty) {
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
            if (v < count) { mine = better(mine, {penalised(value[i], v, seen, penalty), v}); }
        }
    }
    return mine;
}

// Draws by logits (choices), which become weights. best: the likeliest, in thread 0. A function of its own, because its
// registers are not those of a greedy step.
__device__ static __noinline__ int draw_by_logits(float *logits, const choice_settings &settings, const uint8_t *seen,
                                                  const candidate &best, uint64_t *random) {
    __shared__ draw_scratch scratch;
    __shared__ float largest;
    if (threadIdx.x == 0) { largest = best.value; }
    __syncthreads();
    const gpt2_sampling &by = settings.by;
    for (int v = threadIdx.x; v < settings.choices; v += threads_per_block) {
        const float logit = penalised(logits[v], v, seen, by.repetition_penalty);
        logits[v] = weight_of_logit(logit, largest, by.temperature);
    }
    __syncthreads();
    const auto meet = [] { __syncthreads(); };
    block_draw<threads_per_block, decltype(meet)> draw(logits, settings.choices, settings.unit, scratch, meet);
    return draw.draw(by, random);
}

// What earlier kernels write (tokens, logits, positions) is not __restrict__: such loads may be moved before the wait.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    begin_step_kernel(T *__restrict__ out,                      // (B, C) or null
                      int *tokens,                              // (B)
                      choice_state state,                       // all null: the tokens are given
                      float *logits,                            // (B, Vp)
                      const lookup_table<T> token_embedding,    // (Vp, C)
                      const T *__restrict__ position_embedding, // (maxT, C)
                      const int *positions,                     // (B)
                      int C, int V, int Vp, int S) {
    __shared__ candidate shared[threads_per_block / warp_size];
    __shared__ bool draws;
    __shared__ int chosen;
    wait_for_previous_kernel();
    const int b = blockIdx.x;
    if (state.left != nullptr) {
        float *row = logits + (int64_t)b * Vp;
        const choice_settings settings = *state.settings;
        const bool rests = state.left[b] == 0;
        const double penalty = settings.by.repetition_penalty;
        uint8_t *seen = penalty != 1.0 ? state.seen + (int64_t)b * V : nullptr;
        const candidate best = best_of_block(best_of_thread(row, settings.choices, seen, penalty), shared);
        const bool broken = best.value != best.value;
        if (threadIdx.x == 0) { draws = settings.by.temperature > 0.0 && !rests && !broken; }
        __syncthreads();
        const int drawn = draws ? draw_by_logits(row, settings, seen, best, state.random + b) : best.id;
        if (threadIdx.x == 0) {
            const int token = rests ? -1 : broken ? (int)no_token : drawn;
            state.chosen[(int64_t)b * S + state.count[b]++] = token;
            const bool ends = token == settings.stop || broken;
            state.left[b] = rests || ends ? 0 : state.left[b] - 1;
            tokens[b] = chosen = rests || ends ? -1 : token;
            if (seen != nullptr && chosen >= 0) { seen[chosen] = 1; }
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

int choice_begin(gpt2_device &device, choice_state &state, int choices, int stop, const gpt2_draws *draws,
                 const int *left, int B, int V) {
    choice_settings settings = {choices, stop, {1.0, 0.0, 0, 1.0, 0.0}, ldexpf(1.0f, 63)};
    for (int range = 1; range < choices; range *= 2) { settings.unit /= 2.0f; }
    const auto upload = [&](auto *to, const auto *from, int64_t count) {
        return (int)cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyHostToDevice, device.stream);
    };
    if (draws != nullptr) {
        settings.by = draws->by;
        TRY(upload(state.random, draws->random, B));
        if (draws->by.repetition_penalty != 1.0) { TRY(upload(state.seen, draws->seen, (int64_t)B * V)); }
    }
    TRY(upload(state.settings, &settings, 1));
    TRY(upload(state.left, left, B));
    return cudaMemsetAsync(state.count, 0, (size_t)B * sizeof(int), device.stream);
}

template <class T>
int begin_step(gpt2_device &device, T *out, int *tokens, const choice_state *state, float *logits,
               const lookup_table<T> &token_embedding, const T *position_embedding, const int *positions, int B, int C,
               int V, int Vp, int S) {
    const int threads = state != nullptr ? threads_per_block : few_threads;
    return launch({(unsigned)B, (unsigned)threads, device.stream}, begin_step_kernel<T>, out, tokens,
                  state != nullptr ? *state : choice_state{}, logits, token_embedding, position_embedding, positions, C,
                  V, Vp, S);
}

#define INSTANTIATE(T)                                                                                         \
    template int begin_step(gpt2_device &, T *, int *, const choice_state *, float *, const lookup_table<T> &, \
                            const T *, const int *, int, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

// persistent_choice.cuh — the choice of the next token in decode_persistent.cu
//
//   next_token           the best of each block's rows, then of all blocks'. With a temperature each block turns its logits
//                        into weights when it knows the best one, and block 0 draws by all of them (sampling.cuh) while the
//                        others wait
//
// So a greedy token costs one exchange of packets, and a sampled one three.
#ifndef GPT2_PERSISTENT_CHOICE_CUH
#define GPT2_PERSISTENT_CHOICE_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/sampling.cuh"

// Which logits a block chooses among, and how; and what it read of the sequence before block 0 overwrites it at the end.
struct own_choice {
    int first, end; // of the block's rows of the logits, below choice_settings.choices
    bool samples, penalises;
    int stop, left; // the token that ends the sequence; tokens until it ends
    int count;      // tokens that were chosen. Block 0 alone needs it
};

template <class T, class Weight>
__device__ inline own_choice choice_of_block(const persistent_task<T, Weight> &task, const span &rows) {
    const choice_settings &settings = *task.choice.settings;
    return {rows.first,
            min(rows.first + rows.count, settings.choices),
            settings.by.temperature > 0.0,
            settings.by.repetition_penalty != 1.0,
            settings.stop,
            task.choice.left[0],
            blockIdx.x == 0 ? task.choice.count[0] : 0};
}

// The thread's share. logits: of the block's rows
template <class T, class Weight>
__device__ inline candidate best_of_own_logits(const persistent_task<T, Weight> &task, const own_choice &own,
                                               const float *logits) {
    candidate mine = no_candidate;
#pragma unroll 1
    for (int id = own.first + (int)threadIdx.x; id < own.end; id += threads) {
        float logit = logits[id - own.first];
        if (own.penalises) {
            logit = penalised(logit, id, task.choice.seen, task.choice.settings->by.repetition_penalty);
        }
        mine = better(mine, {logit, id});
    }
    return mine;
}

// The best of each warp's candidate, for all threads. shared: (warps)
__device__ inline candidate best_of_warps(candidate mine, candidate *shared) {
    mine = best_of_warp(mine);
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = mine; }
    meet_block();
    return best_of_warp(shared[threadIdx.x % warps]);
}

// The best of all blocks' candidates, likewise.
template <class T, class Weight>
__device__ inline candidate receive_best(const persistent_task<T, Weight> &task, unsigned tag, candidate *shared,
                                         const block_flags *flags) {
    candidate mine = no_candidate;
    for (int block = threadIdx.x; block < (int)gridDim.x; block += threads) {
        uint32_t data[1][2];
        receive(
            data, [&](int) { return task.packets.candidates + 2 * block; }, tag, flags);
        mine = better(mine, {__uint_as_float(data[0][0]), (int)data[0][1]});
    }
    return best_of_warps(mine, shared);
}

// What a draw needs of the task.
struct draw_task {
    choice_state choice;
    float *logits;
    packet *weighed, *drawn;
    const block_flags *flags;
    own_choice own;
    const float *own_logits;
    unsigned tag;
};

// The token that is drawn, for all threads of all blocks. best: the largest logit. A function of its own, because registers are
// scarce in the kernel's loop.
__device__ static __noinline__ int draw_together(const draw_task task, float best, draw_scratch *scratch) {
    const choice_settings &settings = *task.choice.settings;
    const gpt2_sampling &by = settings.by;
    for (int id = task.own.first + (int)threadIdx.x; id < task.own.end; id += threads) {
        const float logit = penalised(task.own_logits[id - task.own.first], id,
                                      task.own.penalises ? task.choice.seen : nullptr, by.repetition_penalty);
        task.logits[id] = weight_of_logit(logit, best, by.temperature);
    }
    __threadfence(); // before the packet that says that they are there
    meet_block();
    if (threadIdx.x == 0) {
        publish(task.weighed + 2 * blockIdx.x, 0, task.tag);
        publish(task.weighed + 2 * blockIdx.x + 1, 0, task.tag);
    }
    if (blockIdx.x != 0) {
        if (threadIdx.x == 0) {
            uint32_t data[1][2];
            receive(
                data, [&](int) { return task.drawn; }, task.tag, task.flags);
            scratch->listed = data[0][0];
        }
        meet_block();
        const int token = (int)scratch->listed;
        meet_block(); // all have read it
        return token;
    }
    bool good = true;
    for (int block = threadIdx.x; block < (int)gridDim.x; block += threads) {
        uint32_t data[1][2];
        good &= receive(
            data, [&](int) { return task.weighed + 2 * block; }, task.tag, task.flags);
    }
    __threadfence();
    if (any_of_block(!good)) { return no_token; }
    const auto meet = [] { meet_block(); };
    block_draw<threads, decltype(meet)> draw(task.logits, settings.choices, settings.unit, *scratch, meet);
    const int token = draw.draw(by, task.choice.random);
    if (threadIdx.x == 0) {
        publish(task.drawn, (uint32_t)token, task.tag);
        publish(task.drawn + 1, (uint32_t)token, task.tag);
    }
    meet_block(); // the scratch memory is free
    return token;
}

// logits: of the block's rows. shared: (2, warps). no_token if a logit is NaN. *good becomes false in all threads if the block
// has given up.
template <class T, class Weight>
__device__ inline int next_token(const persistent_task<T, Weight> &task, const own_choice &own, unsigned tag,
                                 const float *logits, candidate (*shared)[warps], draw_scratch *scratch,
                                 const block_flags *flags, bool *good) {
    meet_block(); // all have written theirs
    candidate best = best_of_warps(best_of_own_logits(task, own, logits), shared[0]);
    if (threadIdx.x == 0) {
        publish(task.packets.candidates + 2 * blockIdx.x, __float_as_uint(best.value), tag);
        publish(task.packets.candidates + 2 * blockIdx.x + 1, (uint32_t)best.id, tag);
    }
    best = receive_best(task, tag, shared[1], flags);
    int token = best.value == best.value ? best.id : no_token;
    if (own.samples && token != no_token) {
        const draw_task all = {task.choice, task.logits, task.packets.weighed, task.packets.drawn, flags, own,
                               logits,      tag};
        token = draw_together(all, best.value, scratch);
    }
    *good = !any_of_block(has_given_up(flags));
    if (!*good) { return no_token; }
    if (own.penalises && threadIdx.x == 0 && token >= own.first && token < own.end) { task.choice.seen[token] = 1; }
    return token;
}

#endif

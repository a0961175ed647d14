// persistent_choice.cuh — the choice of the next token in decode_persistent.cu
//
//   best_of_own_logits   the thread's share in the first choice of a launch, by the logits in memory
//   next_token           the best of each block's rows, then of all blocks'. With a temperature each block turns its logits into weights
//                        when it knows the best one, and block 0 draws by all of them (sampling.cuh) while the others wait
//
// So a greedy token costs one exchange of packets, and a sampled one three.
#ifndef GPT2_PERSISTENT_CHOICE_CUH
#define GPT2_PERSISTENT_CHOICE_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/sampling.cuh"

// Which logits a block chooses among, and how.
struct own_choice {
    int first, end; // of the block's rows of the logits, below choice_settings.choices
    bool samples, penalises;
};

template <class T, class Weight>
__device__ inline own_choice choice_of_block(const persistent_task<T, Weight> &task, const span &rows) {
    const choice_settings &settings = *task.choice.settings;
    return {rows.first, min(rows.first + rows.count, settings.choices), settings.by.temperature > 0.0,
            settings.by.repetition_penalty != 1.0};
}

template <class T, class Weight>
__device__ inline candidate candidate_of(const persistent_task<T, Weight> &task, const own_choice &own, float logit,
                                         int id) {
    if (own.penalises) { logit = penalised(logit, id, task.choice.seen, task.choice.settings->by.repetition_penalty); }
    return {logit, id};
}

template <class T, class Weight>
__device__ inline candidate best_of_own_logits(const persistent_task<T, Weight> &task, const own_choice &own) {
    candidate mine = no_candidate;
    for (int id = own.first + (int)threadIdx.x; id < own.end; id += threads) {
        mine = better(mine, candidate_of(task, own, task.logits[id], id));
    }
    return mine;
}

// The best of each warp's candidate, for all threads. shared: (warps)
__device__ inline candidate best_of_warps(candidate mine, candidate *shared, bool *good) {
    mine = best_of_warp(mine);
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = mine; }
    *good = !any_of_block(!*good);
    return best_of_warp(shared[threadIdx.x % warps]);
}

// The best of all blocks' candidates, likewise.
template <class T, class Weight>
__device__ inline candidate receive_best(const persistent_task<T, Weight> &task, unsigned tag, candidate *shared,
                                         bool *good) {
    candidate mine = no_candidate;
    for (int block = threadIdx.x; block < (int)gridDim.x && *good; block += threads) {
        uint32_t data[1][2] = {};
        *good = receive(
            data, 1, [&](int) { return task.packets.candidates + 2 * block; }, tag, task.packets.failed);
        if (*good) { mine = better(mine, {__uint_as_float(data[0][0]), (int)data[0][1]}); }
    }
    return best_of_warps(mine, shared, good);
}

// What a draw needs of the task.
struct draw_task {
    choice_state choice;
    float *logits;
    packet *weighed, *drawn;
    unsigned *failed;
    own_choice own;
    unsigned tag;
};

struct drawn {
    int token;
    bool good; // no wait was in vain
};

// The token that is drawn, for all threads of all blocks. best: the largest logit. A function of its own, because registers are scarce in
// the kernel's loop.
__device__ static __noinline__ drawn draw_together(const draw_task task, float best, draw_scratch *scratch) {
    bool good = true;
    const choice_settings &settings = *task.choice.settings;
    const gpt2_sampling &by = settings.by;
    for (int id = task.own.first + (int)threadIdx.x; id < task.own.end; id += threads) {
        const float logit =
            penalised(task.logits[id], id, task.own.penalises ? task.choice.seen : nullptr, by.repetition_penalty);
        task.logits[id] = weight_of_logit(logit, best, by.temperature);
    }
    __threadfence(); // before the packet that says that they are there
    any_of_block(false);
    if (threadIdx.x == 0) {
        publish(task.weighed + 2 * blockIdx.x, 0, task.tag);
        publish(task.weighed + 2 * blockIdx.x + 1, 0, task.tag);
    }
    if (blockIdx.x != 0) {
        uint32_t data[1][2] = {};
        if (threadIdx.x == 0) {
            good &= receive(
                data, 1, [&](int) { return task.drawn; }, task.tag, task.failed);
            scratch->listed = data[0][0];
        }
        good = !any_of_block(!good);
        const int token = (int)scratch->listed;
        any_of_block(false); // all have read it
        return {token, good};
    }
    for (int block = threadIdx.x; block < (int)gridDim.x && good; block += threads) {
        uint32_t data[1][2] = {};
        good = receive(
            data, 1, [&](int) { return task.weighed + 2 * block; }, task.tag, task.failed);
    }
    __threadfence();
    good = !any_of_block(!good);
    if (!good) { return {no_token, false}; }
    const auto meet = [] { any_of_block(false); };
    block_draw<threads, decltype(meet)> draw(task.logits, settings.choices, settings.unit, *scratch, meet);
    const int token = draw.draw(by, task.choice.random);
    if (threadIdx.x == 0) {
        publish(task.drawn, (uint32_t)token, task.tag);
        publish(task.drawn + 1, (uint32_t)token, task.tag);
    }
    any_of_block(false); // the scratch memory is free
    return {token, true};
}

// mine: of the rows that the thread has computed. shared: (2, warps). no_token if a logit is NaN. *good: no wait was in vain
template <class T, class Weight>
__device__ inline int next_token(const persistent_task<T, Weight> &task, const own_choice &own, candidate mine,
                                 unsigned tag, candidate (*shared)[warps], draw_scratch *scratch, bool *good) {
    candidate best = best_of_warps(mine, shared[0], good);
    if (threadIdx.x == 0) {
        publish(task.packets.candidates + 2 * blockIdx.x, bits_of(best.value), tag);
        publish(task.packets.candidates + 2 * blockIdx.x + 1, (uint32_t)best.id, tag);
    }
    best = receive_best(task, tag, shared[1], good);
    if (best.value != best.value) { return no_token; }
    int token = best.id;
    if (own.samples && *good) {
        const draw_task all = {task.choice, task.logits, task.packets.weighed, task.packets.drawn, task.packets.failed,
                               own,         tag};
        const drawn result = draw_together(all, best.value, scratch);
        token = result.token, *good = result.good;
    }
    if (own.penalises && threadIdx.x == 0 && token >= own.first && token < own.end) { task.choice.seen[token] = 1; }
    return token;
}

#endif

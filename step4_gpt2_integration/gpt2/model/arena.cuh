// arena.cuh — many tensors in one allocation
#ifndef GPT2_ARENA_CUH
#define GPT2_ARENA_CUH

#include <cstddef>
#include <cstdint>

// Hands out parts of one allocation. Without a base it only counts, so the same list of tensors is walked twice.
struct arena {
    char *base;
    size_t used;

    template <class P> void take(P *&pointer, int64_t elements) {
        constexpr size_t alignment = 256;
        used = (used + alignment - 1) / alignment * alignment;
        pointer = base ? (P *)(base + used) : nullptr;
        used += (size_t)elements * sizeof(P);
    }
};

#endif

/* hooks_atomic.c — the __atomic builtins of instrumented code (std::atomic, cuda::atomic): gcc turns them into calls
 * of __tsan_atomic*. Each takes its block's turn like CUDA's own atomics, is checked and traced, and is then done. */
#include "access.h"
#include "engine/scheduler.h"

#if SIMT_CHECKED

/* Before the operation on device memory; false on the host side and on the thread's own stack. */
static inline bool enter(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    struct simt_thread *self = simt_self;
    if (self) {
        if (address - self->stack_low < STACK_BYTES) return false;
        if (!self->block->ordered && !in_shared(address)) order_enter(self->block);
    }
    access_hook(pc, kind, address, size_log2);
    return self != NULL;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define MODIFY(bits, log2, name, operation)                                                                \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *address, uint##bits##_t value, int order);  \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *address, uint##bits##_t value, int order) { \
        (void)order;                                                                                       \
        bool polls = enter(CALLER, TRACE_ATOMIC, (uintptr_t)address, log2);                                \
        uint##bits##_t old = operation((volatile uint##bits##_t *)address, value, __ATOMIC_SEQ_CST);       \
        if (polls && old == __atomic_load_n((volatile uint##bits##_t *)address, __ATOMIC_RELAXED))         \
            access_poll(simt_self, CALLER, (uintptr_t)address, old);                                       \
        return old;                                                                                        \
    }

#define COMPARE(bits, log2, name)                                                                                     \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile void *address, void *expected, uint##bits##_t desired, \
                                                      int success, int failure);                                      \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile void *address, void *expected, uint##bits##_t desired, \
                                                      int success, int failure) {                                     \
        (void)success, (void)failure;                                                                                 \
        bool polls = enter(CALLER, TRACE_ATOMIC, (uintptr_t)address, log2);                                           \
        uint##bits##_t seen;                                                                                          \
        memcpy(&seen, expected, sizeof seen);                                                                         \
        bool done = __atomic_compare_exchange_n((volatile uint##bits##_t *)address, &seen, desired, false,            \
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                  \
        memcpy(expected, &seen, sizeof seen);                                                                         \
        if (polls && !done) access_poll(simt_self, CALLER, (uintptr_t)address, seen);                                 \
        return done;                                                                                                  \
    }

#define FAMILY(bits, log2)                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *address, int order);                     \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *address, int order) {                    \
        (void)order;                                                                                        \
        bool polls = enter(CALLER, TRACE_VOLATILE_READ, (uintptr_t)address, log2);                          \
        uint##bits##_t value = __atomic_load_n((const volatile uint##bits##_t *)address, __ATOMIC_SEQ_CST); \
        if (polls) access_poll(simt_self, CALLER, (uintptr_t)address, value);                               \
        return value;                                                                                       \
    }                                                                                                       \
    void __tsan_atomic##bits##_store(volatile void *address, uint##bits##_t value, int order);              \
    void __tsan_atomic##bits##_store(volatile void *address, uint##bits##_t value, int order) {             \
        (void)order;                                                                                        \
        enter(CALLER, TRACE_VOLATILE_WRITE, (uintptr_t)address, log2);                                      \
        __atomic_store_n((volatile uint##bits##_t *)address, value, __ATOMIC_SEQ_CST);                      \
    }                                                                                                       \
    MODIFY(bits, log2, exchange, __atomic_exchange_n)                                                       \
    MODIFY(bits, log2, fetch_add, __atomic_fetch_add)                                                       \
    MODIFY(bits, log2, fetch_sub, __atomic_fetch_sub)                                                       \
    MODIFY(bits, log2, fetch_and, __atomic_fetch_and)                                                       \
    MODIFY(bits, log2, fetch_or, __atomic_fetch_or)                                                         \
    MODIFY(bits, log2, fetch_xor, __atomic_fetch_xor)                                                       \
    MODIFY(bits, log2, fetch_nand, __atomic_fetch_nand)                                                     \
    COMPARE(bits, log2, strong)                                                                             \
    COMPARE(bits, log2, weak)

FAMILY(8, 0)
FAMILY(16, 1)
FAMILY(32, 2)
FAMILY(64, 3)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    (void)order;
    if (simt_self) trace_fence(simt_self, CALLER, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}

#else
typedef int hooks_atomic_is_empty_in_the_fast_build;
#endif

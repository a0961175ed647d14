/* hooks_tsan.c — the functions that code from `g++ -fsanitize=thread -fsanitize-coverage=trace-pc` calls, defined here
 * instead of in a sanitizer's runtime: every access with its address and size, every atomic, function entry and exit,
 * every basic block.
 *
 * Every access of a kernel calls one of these functions, so each is only a few instructions.
 */
#include "access.h"
#include "engine/scheduler.h"
#include "faults.h"

#if SIMT_CHECKED

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define ACCESS(name, bytes, log2)             \
    void __tsan_##name##bytes(void *address); \
    void __tsan_##name##bytes(void *address)

#define ACCESSES(bytes, log2)                                                \
    ACCESS(read, bytes, log2) {                                              \
        access_hook(CALLER, TRACE_READ, (uintptr_t)address, log2);           \
    }                                                                        \
    ACCESS(write, bytes, log2) {                                             \
        access_hook(CALLER, TRACE_WRITE, (uintptr_t)address, log2);          \
    }                                                                        \
    ACCESS(unaligned_read, bytes, log2) {                                    \
        access_hook(CALLER, TRACE_READ, (uintptr_t)address, log2);           \
    }                                                                        \
    ACCESS(unaligned_write, bytes, log2) {                                   \
        access_hook(CALLER, TRACE_WRITE, (uintptr_t)address, log2);          \
    }                                                                        \
    ACCESS(volatile_write, bytes, log2) {                                    \
        access_hook(CALLER, TRACE_VOLATILE_WRITE, (uintptr_t)address, log2); \
    }                                                                        \
    ACCESS(volatile_read, bytes, log2) {                                     \
        volatile_read(CALLER, (uintptr_t)address, log2);                     \
    }                                                                        \
    ACCESS(unaligned_volatile_write, bytes, log2) {                          \
        access_hook(CALLER, TRACE_VOLATILE_WRITE, (uintptr_t)address, log2); \
    }                                                                        \
    ACCESS(unaligned_volatile_read, bytes, log2) {                           \
        volatile_read(CALLER, (uintptr_t)address, log2);                     \
    }

static inline void volatile_read(uintptr_t pc, uintptr_t address, unsigned size_log2) {
    access_hook(pc, TRACE_VOLATILE_READ, address, size_log2);
    struct simt_thread *self = simt_self;
    if (self == NULL || address - self->stack_low < STACK_BYTES) return;
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size_log2 < 3 ? (size_t)1 << size_log2 : 8);
    access_poll(self, pc, address, value);
    trace_read_late(self, pc, address);
}

ACCESSES(1, 0)
ACCESSES(2, 1)
ACCESSES(4, 2)
ACCESSES(8, 3)
ACCESSES(16, 4)

/* Structs without an alignment of their own: nvcc splits them into scalar accesses, here of at most 4 bytes. */
static void access_range(uintptr_t pc, enum trace_kind kind, uintptr_t address, size_t bytes) {
    if (simt_self && address - simt_self->stack_low < STACK_BYTES) return;
    for (uintptr_t end = address + bytes; address < end;) {
        unsigned log2 = address % 4 == 0 && end - address >= 4 ? 2 : address % 2 == 0 && end - address >= 2 ? 1 : 0;
        access_hook(pc, kind, address, log2);
        address += (uintptr_t)1 << log2;
    }
}

void __tsan_read_range(void *address, size_t bytes);
void __tsan_read_range(void *address, size_t bytes) {
    access_range(CALLER, TRACE_READ, (uintptr_t)address, bytes);
}

void __tsan_write_range(void *address, size_t bytes);
void __tsan_write_range(void *address, size_t bytes) {
    access_range(CALLER, TRACE_WRITE, (uintptr_t)address, bytes);
}

void __tsan_vptr_read(void **address);
void __tsan_vptr_read(void **address) {
    access_hook(CALLER, TRACE_READ, (uintptr_t)address, 3);
}

void __tsan_vptr_update(void **address, void *value);
void __tsan_vptr_update(void **address, void *value) {
    (void)value;
    access_hook(CALLER, TRACE_WRITE, (uintptr_t)address, 3);
}

void __tsan_init(void);
void __tsan_init(void) {}

void __tsan_func_entry(void *call_pc);
void __tsan_func_entry(void *call_pc) {
    struct simt_thread *self = simt_self;
    if (self == NULL) return;
    if (__builtin_expect((uintptr_t)__builtin_frame_address(0) < self->stack_low + STACK_RESERVE, 0))
        simt_stack_overflow(CALLER);
    trace_enter(self, (uintptr_t)call_pc);
}

void __tsan_func_exit(void);
void __tsan_func_exit(void) {
    if (simt_self) trace_leave(simt_self);
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    trace_block(running_trace, CALLER);
}

/* ---- atomics ---- */

/* gcc turns the __atomic builtins (std::atomic, cuda::atomic) into calls of __tsan_atomic*. Each waits for its block's turn
 * like CUDA's own atomics, is checked and traced, and is then executed. */

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

static inline void modified(uintptr_t pc, uintptr_t address, uint64_t old, uint64_t now) {
    if (old == now)
        access_poll(simt_self, pc, address, old);
    else
        simt_self->block->effects++;
}

#define MODIFY(bits, log2, name, operation)                                                                \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *address, uint##bits##_t value, int order);  \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *address, uint##bits##_t value, int order) { \
        (void)order;                                                                                       \
        bool polls = enter(CALLER, TRACE_ATOMIC, (uintptr_t)address, log2);                                \
        uint##bits##_t old = operation((volatile uint##bits##_t *)address, value, __ATOMIC_SEQ_CST);       \
        if (polls) modified(CALLER, (uintptr_t)address, old, *(volatile uint##bits##_t *)address);         \
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
        if (polls) modified(CALLER, (uintptr_t)address, seen, done ? desired : seen);                                 \
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

/* memcpy, memmove and memset: first the events, then the copy. All reads of a copy precede its writes. */
static void range(uintptr_t pc, enum trace_kind kind, const void *pointer, size_t bytes, bool events) {
    if (events) {
        access_range(pc, kind, (uintptr_t)pointer, bytes);
    } else if (simt_confined) {
        confine_check(pc, pointer, bytes, kind == TRACE_WRITE);
    }
}

void *simt_memcpy(void *to, const void *from, size_t bytes) {
    bool events = simt_self || in_arena((uintptr_t)to) || in_arena((uintptr_t)from);
    range(CALLER, TRACE_READ, from, bytes, events);
    range(CALLER, TRACE_WRITE, to, bytes, events);
    return memcpy(to, from, bytes);
}

void *simt_memmove(void *to, const void *from, size_t bytes) {
    bool events = simt_self || in_arena((uintptr_t)to) || in_arena((uintptr_t)from);
    range(CALLER, TRACE_READ, from, bytes, events);
    range(CALLER, TRACE_WRITE, to, bytes, events);
    return memmove(to, from, bytes);
}

void *simt_memset(void *to, int value, size_t bytes) {
    range(CALLER, TRACE_WRITE, to, bytes, simt_self || in_arena((uintptr_t)to));
    return memset(to, value, bytes);
}

#else

void *simt_memcpy(void *to, const void *from, size_t bytes) {
    return memcpy(to, from, bytes);
}
void *simt_memmove(void *to, const void *from, size_t bytes) {
    return memmove(to, from, bytes);
}
void *simt_memset(void *to, int value, size_t bytes) {
    return memset(to, value, bytes);
}

#endif

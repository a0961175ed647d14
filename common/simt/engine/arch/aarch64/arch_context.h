/* arch_context.h — 64-bit ARM (../README.md). */
#ifndef SIMT_ARCH_CONTEXT_H
#define SIMT_ARCH_CONTEXT_H

#include <stdint.h>

/* g++ has no -fsplit-stack here. Inaccessible memory below each stack ends an overflow: -fstack-clash-protection makes a
 * function with a larger frame access every 64 KB of it (flags.mk). */
enum { STACK_GUARD = 64 * 1024 };

static inline void set_stack_limit(uintptr_t limit) {
    (void)limit;
}

/* __builtin_frame_address() would force a frame pointer. */
static inline uintptr_t stack_pointer_now(void) {
    uintptr_t now;
    __asm__("mov %0, sp" : "=r"(now));
    return now;
}

/* As fiber_switch, but the compiler saves only the registers that are live here. */
static inline void context_switch(void **save, void *load) {
    register void **x0 __asm__("x0") = save;
    register void *x1 __asm__("x1") = load;
    __asm__ volatile("adr x9, 1f\n\t"
                     "stp x9, x29, [sp, #-16]!\n\t"
                     "mov x10, sp\n\t"
                     "str x10, [%0]\n\t"
                     "mov sp, %1\n\t"
                     "ldr x9, [sp]\n\t"
                     "br x9\n"
                     "1:\tldr x29, [sp, #8]\n\t"
                     "add sp, sp, #16"
                     : "+r"(x0), "+r"(x1)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                       "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0",
                       "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                       "v30", "v31", "cc", "memory");
}

/* Callee-saved registers in DWARF's numbers, x19 to x29 and d8 to d15: the others are dead at a call, or on the stack. */
static const int callee_saved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 72, 73, 74, 75, 76, 77, 78, 79};

#endif

/* arch_context.h — x86-64 (../README.md). What includes this is compiled with -mno-red-zone, because the switch pushes onto the
 * stack of the function it stands in. */
#ifndef SIMT_ARCH_CONTEXT_H
#define SIMT_ARCH_CONTEXT_H

#include <stdint.h>

/* The prologues of -fsplit-stack code check the stack, so no guard lies below it. */
enum { STACK_GUARD = 0 };

/* -fsplit-stack code reads the end of its stack from this word of the thread control block, which glibc reserves for it. */
static inline void set_stack_limit(uintptr_t limit) {
    __asm__ volatile("movq %0, %%fs:0x70" : : "r"(limit));
}

/* __builtin_frame_address() would force a frame pointer. */
static inline uintptr_t stack_pointer_now(void) {
    uintptr_t now;
    __asm__("movq %%rsp, %0" : "=r"(now));
    return now;
}

/* As fiber_switch, but the compiler saves only the registers that are live here. */
static inline void context_switch(void **save, void *load) {
    __asm__ volatile("pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "movq %%rsp, (%0)\n\t"
                     "movq %1, %%rsp\n\t"
                     "popq %%rcx\n\t"
                     "jmp *%%rcx\n"
                     "1:\tpopq %%rbp"
                     : "+D"(save), "+S"(load)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15", "cc", "memory");
}

/* Callee-saved registers in DWARF's numbers: the others are dead at a call, or on the stack. */
static const int callee_saved[] = {3, 6, 12, 13, 14, 15};

#endif

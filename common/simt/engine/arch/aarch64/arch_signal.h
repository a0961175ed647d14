/* arch_signal.h — 64-bit ARM: the registers of a thread that a signal interrupted. Needs _GNU_SOURCE. */
#ifndef SIMT_ARCH_SIGNAL_H
#define SIMT_ARCH_SIGNAL_H

#include <stdint.h>
#include <ucontext.h>

static inline uintptr_t interrupted_pc(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.pc;
}

/* Below it nothing is in use. */
static inline uintptr_t interrupted_stack(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.sp;
}

/* When the handler returns, the thread calls `function` on the stack below `stack`. */
static inline void interrupted_call(ucontext_t *context, void (*function)(void), uintptr_t stack) {
    context->uc_mcontext.sp = stack & -(uintptr_t)16;
    context->uc_mcontext.regs[29] = context->uc_mcontext.regs[30] = 0;
    context->uc_mcontext.pc = (uintptr_t)function;
}

#endif

/* arch_signal.h — x86-64: the registers of a thread that a signal interrupted. Needs _GNU_SOURCE. */
#ifndef SIMT_ARCH_SIGNAL_H
#define SIMT_ARCH_SIGNAL_H

#include <stdint.h>
#include <ucontext.h>

enum { RED_ZONE_OF_ABI = 128 };

static inline uintptr_t interrupted_pc(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* Below it nothing is in use. */
static inline uintptr_t interrupted_stack(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP] - RED_ZONE_OF_ABI;
}

/* When the handler returns, the thread calls `function` on the stack below `stack`. */
static inline void interrupted_call(ucontext_t *context, void (*function)(void), uintptr_t stack) {
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)((stack & -(uintptr_t)16) - 8);
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)function;
}

#endif

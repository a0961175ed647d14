/* faults.c — endless loops, stack overflows, and signals that a kernel raises. The launch fails and the program
 * continues, as on a device.
 *
 * Signals report what no hook can see: a jump to an invalid address, a fault inside a library function, an integer
 * division by zero. The handler runs on a stack of its own, because the thread's stack may be full. It makes the
 * interrupted thread continue in fault_landing(), on the rest of its stack. On the host side the signal keeps its
 * meaning.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch_signal.h"
#include "engine/scheduler.h"
#include "faults.h"
#include "source.h"

/* The lane whose place is reported: rather one that runs endlessly than one that waits for it. */
static const struct simt_thread *culprit(const struct simt_warp *warp) {
    unsigned lanes = warp->in_state[THREAD_YIELDED];
    if (lanes == 0) lanes = warp->in_state[THREAD_TRACE_FULL];
    if (lanes == 0) lanes = warp->in_state[THREAD_COLLECTIVE];
    return lanes ? &warp->thread[__builtin_ctz(lanes)] : &warp->thread[0];
}

void watchdog_report(struct simt_warp *warp) {
    const struct simt_thread *thread = culprit(warp);
    struct simt_block *block = warp->block;
    simt_report(SIMT_ENDLESS, true, thread->blocked_pc, thread,
                "Endless loop: %llu steps and no thread of the block has ended\n"
                "%s\nSet SIMT_WATCHDOG=<steps> for a kernel that needs more",
                (unsigned long long)block->steps,
                warp->in_state[THREAD_YIELDED] ? "The thread polls a value that no thread changes"
                                               : "The loop's condition never becomes false");
    launch_fail(block->launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
    block->status = BLOCK_FAILED;
}

static __thread uintptr_t overflow_pc;

static void report_stack_overflow(void) {
    simt_report(SIMT_STACK_OVERFLOW, true, source_next_line(overflow_pc), simt_self,
                "Stack overflow\nThe thread's local variables and calls need more than %d KB",
                (STACK_BYTES - STACK_RESERVE) / 1024);
    simt_fail_launch(SIMT_ERROR_STACK);
}

/* What is left of the stack may not suffice for a report, so that starts at the top: the thread does not continue. */
void simt_stack_overflow(uintptr_t pc) {
    overflow_pc = pc;
    fiber_restart((void *)simt_self->stack_high, report_stack_overflow);
}

/* ---- signals ---- */

enum { SIGNAL_STACK = 64 * 1024, BELOW_STACK = 2 * STACK_BYTES };

static struct sigaction previous_segv, previous_bus, previous_fpe;

static __thread struct {
    int signal;
    uintptr_t pc, address, stack;
} fault;

/* Without room for its frame, a signal becomes a segmentation fault without an address. */
static bool fault_by_overflow(const struct simt_thread *self) {
    if (fault.signal == SIGFPE) return false;
    return fault.address - (self->stack_low - BELOW_STACK) < BELOW_STACK + STACK_RESERVE ||
           fault.stack - (self->stack_low - BELOW_STACK) < BELOW_STACK + STACK_RESERVE / 2;
}

static void fault_landing(void) {
    struct simt_thread *self = simt_self;
    if (fault_by_overflow(self)) simt_stack_overflow(fault.pc + 1);
    if (fault.signal == SIGFPE) {
        simt_report(SIMT_ARITHMETIC, true, fault.pc + 1, self,
                    "Integer division by zero, or a quotient that does not fit\n"
                    "CUDA gives an undefined value; x86-64 stops the program");
        simt_fail_launch(SIMT_ERROR_LAUNCH_FAILURE);
    }
    simt_report(SIMT_OUT_OF_BOUNDS, true, fault.pc + 1, self,
                "Invalid access\nAccess to 0x%llx faults: no memory is mapped at this address",
                (unsigned long long)fault.address);
    simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS);
}

static const struct sigaction *previous_action(int signal) {
    return signal == SIGSEGV ? &previous_segv : signal == SIGBUS ? &previous_bus : &previous_fpe;
}

static void on_fault(int signal, siginfo_t *info, void *data) {
    struct simt_thread *self = simt_self;
    ucontext_t *context = data;
    if (self == NULL) {
        sigaction(signal, previous_action(signal), NULL); /* it faults again, with its old meaning */
        return;
    }
    fault.signal = signal;
    fault.pc = interrupted_pc(context);
    fault.address = (uintptr_t)info->si_addr;
    uintptr_t stack = fault.stack = interrupted_stack(context);
    if (stack - self->stack_low < STACK_RESERVE || stack - self->stack_low >= STACK_BYTES)
        stack = self->stack_high; /* its content is not needed any more */
    interrupted_call(context, fault_landing, stack);
}

/* Each OS thread needs a signal stack of its own. */
void fault_prepare_thread(void) {
    static __thread bool done;
    if (done) return;
    done = true;
    stack_t stack = {.ss_size = SIGNAL_STACK};
    stack.ss_sp = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, NULL);
}

void fault_catch(void) {
    static bool done;
    if (done) return;
    done = true;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    sigaction(SIGFPE, &action, &previous_fpe);
}

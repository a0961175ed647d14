/* preempt.c — preempts threads that run for long, in the fast build. See preempt.h.
 *
 * A timer on the OS thread's CPU time sends a signal. If it interrupts the learner's own code, which holds no lock and
 * no half-updated state of the runtime, the lane blocks inside the signal handler and continues from there later. The
 * runtime's code lies in a section of its own (module.mk), so that the handler can distinguish the two. The linker's stubs
 * for calls of shared libraries, which the runtime calls too, lie before the first function of the program, _start; so do
 * the parts of functions that g++ takes for unlikely (simt-cc keeps the learner's functions whole).
 */
#define _GNU_SOURCE
#include "preempt.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch_signal.h"
#include "switch.h"

__thread volatile int preempt_off;

#if SIMT_CHECKED

void preempt_begin(void) {}
void preempt_end(void) {}

#else

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A tick counts as so many steps that the default watchdog limit is about 20 s of a block's CPU time. */
enum { TICK_NANOSECONDS = 4000000, TICKS_BEFORE_YIELD = 5, STEPS_OF_TICK = 100000 };

extern char _start[], etext[];
extern char __start_simt_text[] __attribute__((weak)), __stop_simt_text[] __attribute__((weak));

static __thread timer_t timer;
static __thread enum { TIMER_NONE, TIMER_MADE, TIMER_REFUSED } timer_state;

static bool is_learners(uintptr_t pc) {
    return pc >= (uintptr_t)_start && pc < (uintptr_t)etext &&
           !(pc >= (uintptr_t)__start_simt_text && pc < (uintptr_t)__stop_simt_text);
}

static void on_tick(int signal, siginfo_t *info, void *data) {
    (void)signal, (void)info;
    struct simt_thread *self = simt_self;
    uintptr_t pc = interrupted_pc(data);
    if (self == NULL || preempt_off || !is_learners(pc)) return;
    self->block->progressed = true; /* it may do more than poll */
    self->block->steps += STEPS_OF_TICK;
    uintptr_t place = pc + 1; /* as a return address, which is 1 byte or more past the instruction's first */
    lane_block(self, ++self->ticks < TICKS_BEFORE_YIELD ? THREAD_TRACE_FULL : THREAD_YIELDED, place);
}

static void make_timer(void) {
    int signal = SIGRTMIN + 7;
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    sigemptyset(&action.sa_mask);
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    timer_state = TIMER_REFUSED;
    if (&__start_simt_text[0] != &__stop_simt_text[0] && sigaction(signal, &action, NULL) == 0 &&
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0)
        timer_state = TIMER_MADE;
}

static void set_timer(long nanoseconds) {
    struct itimerspec time = {{0, nanoseconds}, {0, nanoseconds}};
    if (timer_state == TIMER_NONE) make_timer();
    if (timer_state == TIMER_MADE) timer_settime(timer, 0, &time, NULL);
}

void preempt_begin(void) {
    set_timer(TICK_NANOSECONDS);
}
void preempt_end(void) {
    set_timer(0);
}

#endif

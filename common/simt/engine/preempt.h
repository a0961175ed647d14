/* preempt.h — preemption in the fast build. There the scheduler cannot see that a thread polls memory, so a timer preempts
 * threads that run for long. Then others run, among them the thread that writes the polled value. */
#ifndef SIMT_PREEMPT_H
#define SIMT_PREEMPT_H

/* Around a launch, on each OS thread that runs blocks. No effect in the checked build. */
void preempt_begin(void);
void preempt_end(void);

/* Above 0: the running thread executes the runtime's code outside its own section; it must not be preempted. */
extern __thread volatile int preempt_off;

#endif

/* preempt.h — in the fast build nothing tells the scheduler that a thread polls memory, so a clock takes the CPU away
 * from threads that run for long: others get to run, among them the one that writes what is polled. */
#ifndef SIMT_PREEMPT_H
#define SIMT_PREEMPT_H

/* While a launch runs, on each OS thread that runs blocks. Without effect in the checked build. */
void preempt_begin(void);
void preempt_end(void);

/* Above 0: the runtime is at work on behalf of the running thread, in code that could be mistaken for the learner's. */
extern __thread volatile int preempt_off;

#endif

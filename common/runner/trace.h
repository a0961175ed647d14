/* trace.h — what a traced program records. The functions are weak: programs without trace.cpp have none of them. */
#ifndef TRACE_H
#define TRACE_H

#include "protocol.h"

extern "C" {
__attribute__((weak)) void trace_begin(void);
__attribute__((weak)) void trace_end(struct result *result); /* fills in its counts */
__attribute__((weak)) void trace_send(void);                 /* the atoms, then the comparisons */
__attribute__((weak)) int trace_ran(uintptr_t pc); /* enum ran_where: the basic block of the hook that returns there */
__attribute__((weak)) void trace_pc(void);         /* the hook of a basic block */
__attribute__((weak)) void run_lines(const struct job *job); /* JOB_LINES. lines.cpp */
__attribute__((weak)) void run_huge(const struct job *job);  /* job->huge. huge.cpp */
}

#endif

/* compare.h — runs the random kernels that are linked in, and the interpreter, and compares their counters. */
#ifndef SIMT_TESTS_COMPARE_H
#define SIMT_TESTS_COMPARE_H

#include <stdint.h>

struct comparison {
    unsigned kernels, wrong_requests, wrong_sectors, wrong_shared, wrong_syncs, wrong_results;
    unsigned wrong;    /* kernels with any difference */
    uint64_t requests; /* compared in all */
};

/* `show`: how many of the wrong ones to describe on stderr. */
struct comparison compare_all(unsigned show);

#endif

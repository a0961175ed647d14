/* bench_options.h — the command line of a bench program. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "../ops/ops.h"

enum { BENCH_MAX_SIZES = 16 };

struct bench_options {
    const char *op;   /* NULL: every op of the file */
    const char *json; /* file to append to; NULL: none */
    int N[BENCH_MAX_SIZES], C[BENCH_MAX_SIZES], N_count, C_count;
    int B[BENCH_MAX_SIZES], H[BENCH_MAX_SIZES], T[BENCH_MAX_SIZES], BHT_count; /* of causal ops */
    int upper;                                                                 /* of causal ops */
    unsigned types;                                                            /* bit 1 << enum op_type */
    int rung;                                                                  /* -1: every rung */
    int samples;                                                               /* batches per figure */
};

/* 0: continue; otherwise exit with that value minus one (--help gives 1, an error gives 3). */
int bench_options_read(struct bench_options *options, int argc, char **argv);

#endif

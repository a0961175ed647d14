/* profile.h — where a GPT-2 built from naive kernels spends its time: computed from shapes, not measured.
 *
 * One forward pass of GPT-2 small (12 layers, 12 heads, 768 channels, 50257 words) over one sequence of 1024 tokens, fp32,
 * on a nominal GPU of 320 GB/s and 8.1 TFLOP/s. Kernels that move memory take bytes / bandwidth, matrix products take their
 * operations at 70 % of the peak. 'Naive' is the traffic in 32-byte sectors of one thread per row, no cache helping.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdio.h>

enum { PROFILE_ROWS = 6 };

struct profile_row {
    const char *name;
    int launches;
    double floor_bytes;  /* 0 for matrix products */
    double naive_factor; /* sectors of the naive kernel / floor */
    double flops;        /* matrix products */
};

extern const struct profile_row profile[PROFILE_ROWS];

/* Milliseconds of one row at that multiple of the floor (or of its operations). */
double profile_ms(const struct profile_row *row, double factor);
double profile_naive_ms(void);

/* Amdahl's speed-up over the naive whole, with row i at factors[i] times its floor; 0 leaves a row naive. */
double profile_speedup(const double factors[PROFILE_ROWS]);

void profile_print(FILE *out);

#endif

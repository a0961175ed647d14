/* bench.h — the figures of a cell, and how they are shown. */
#ifndef GPT2_BENCH_H
#define GPT2_BENCH_H

#include "bench_plan.h"

struct figures {
    double p5, p50, p95; /* seconds: of a decoding step, or of a whole pass over the prompts; each waited for */
    int samples;         /* that many of them */
    double tokens_per_s; /* decoding: of steps queued behind each other; prompts: batch * tokens / p50 */
    double bytes;        /* device memory taken: the model's, or more where the libraries took some too */
    double gb_per_s;     /* of cell_bytes by the time that tokens_per_s is from; decoding only */
    double cpu_ms;       /* processor time of all threads, of a step or a pass: what a busy machine does not change */
    double tokens_per_joule; /* negative: not available */
    char reason[192];        /* why nothing was measured; empty: it was */
};

void bench_print_head(FILE *to, const struct options *options, const struct gpt2_device_info *device);
void bench_print_row(FILE *to, const struct cell *cell, const struct figures *figures);

/* One line of JSON, to be freed; NULL without memory. */
char *bench_json(const struct cell *cell, const struct figures *figures, const struct options *options,
                 const struct gpt2_device_info *device);

#endif

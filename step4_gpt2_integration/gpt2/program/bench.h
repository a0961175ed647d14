/* bench.h — the parts of gpt2 bench: the plan of its cells, and the figures of a cell. */
#ifndef GPT2_BENCH_H
#define GPT2_BENCH_H

#include "program.h"

/* ---- the plan (bench_plan.c) ---- */

/* A cell is a whole pass over prompts, or decoding from a position on. */
struct cell {
    const struct gpt2_config *config;
    char size[32]; /* "124M"; "model" for the weights of --model */
    const char *type_name;
    enum gpt2_type type;
    bool tf32, decodes;
    enum gpt2_scheme scheme; /* of matrices in 8 bits */
    bool activations;        /* of prompts in 8 bits, too; figures.activations says what ran */
    int batch, tokens;       /* tokens: of each prompt; of a decoding cell: before the first step */
};

/* Parses "a,b,c", each a number within the range. False: the error names the option and the item. */
enum { MOST_ITEMS = 16 };
struct numbers {
    int count, at[MOST_ITEMS];
};
bool numbers_parse(struct numbers *numbers, const char *option, const char *text, int least, int most,
                   struct gpt2_error *error);

/* All cells, sorted by size, then by type, so that weights are made once for each. Cells that do not fit the context are listed
 * too; bench reports why they are not measured. The caller frees *cells. model: the sizes of --model, or null for those of
 * --sizes. */
bool plan(struct cell **cells, int *count, const struct options *options, const struct gpt2_config *model,
          struct gpt2_error *error);

enum { SHORT_POSITION = 64 }; /* --positions short */

/* The bytes that a step or a pass must read: the weights of its products, and in decoding the keys and values so far. */
double cell_bytes(const struct cell *cell);

/* ---- figures (bench_figures.c) ---- */

/* The joules that the first GPU has used since its driver was loaded, from NVIDIA's management library, which is looked up at run
 * time. False: no GPU, no library, or no such counter. The counter is updated about ten times a second, so differences over less
 * than a second are not meaningful. */
bool energy_read(double *joules);

/* The quantile p (0 to 1) of a sample, interpolated linearly between neighbours, as numpy and Excel do. values: (count), count
 * >= 1; they are sorted in place. */
double quantile(double *values, int count, double p);

struct figures {
    double p5, p50, p95;     /* seconds of a decoding step, or of a whole pass over the prompts, each waited for */
    int samples;             /* their number */
    double tokens_per_s;     /* decoding: of queued steps; prompts: batch * tokens / p50 */
    double bytes;            /* device memory in use: the model's, and what the libraries allocated */
    double gb_per_s;         /* cell_bytes over the time behind tokens_per_s; decoding only */
    double cpu_ms;           /* processor time of all threads for a step or a pass, independent of other load */
    double tokens_per_joule; /* negative: not available */
    enum gpt2_form form;     /* of the decoding steps that ran */
    bool activations;        /* of the products that ran: in 8 bits */
    char reason[192];        /* why the cell was not measured; empty: it was */
    bool failed;             /* the reason is an error, not a lack of context or memory */
};

void bench_print_head(FILE *to, const struct options *options, const struct gpt2_device_info *device);
void bench_print_row(FILE *to, const struct cell *cell, const struct figures *figures);

/* One line of JSON, which the caller frees; NULL: out of memory. */
char *bench_json(const struct cell *cell, const struct figures *figures, const struct options *options,
                 const struct gpt2_device_info *device);

#endif

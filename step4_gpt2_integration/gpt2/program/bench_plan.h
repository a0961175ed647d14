/* bench_plan.h — what `gpt2 bench` measures: one cell for each combination of the lists on its command line. */
#ifndef GPT2_BENCH_PLAN_H
#define GPT2_BENCH_PLAN_H

#include "program.h"

/* A cell is a whole pass over prompts, or steps of decoding from a position on. */
struct cell {
    const struct gpt2_config *config;
    char size[32]; /* "124M"; "model" where --model gave the weights */
    const char *type_name;
    enum gpt2_type type;
    bool tf32, decodes;
    int batch, tokens; /* tokens: of each prompt; a decoding cell's begins behind that many */
};

/* "a,b,c" in order, each a number within the range. False: the error names the option and the item. */
enum { MOST_ITEMS = 16 };
struct numbers {
    int count, at[MOST_ITEMS];
};
bool numbers_parse(struct numbers *numbers, const char *option, const char *text, int least, int most,
                   struct gpt2_error *error);

/* All cells, a size after the other, in it a type after the other: so weights are made once for each. Where the context is too
 * short, a cell is there all the same; bench says why it is not measured. *cells is to be freed. model: the sizes of --model,
 * or null for those of --sizes. */
bool plan(struct cell **cells, int *count, const struct options *options, const struct gpt2_config *model,
          struct gpt2_error *error);

enum { SHORT_POSITION = 64 }; /* --positions short */

/* Bytes that a step or a pass has to read: the weights that it multiplies by, and in decoding the keys and values so far. */
double cell_bytes(const struct cell *cell);

#endif

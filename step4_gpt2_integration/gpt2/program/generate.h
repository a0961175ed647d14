/* generate.h — the parts of gpt2 generate: prompts, sequences, and the run as JSON. */
#ifndef GPT2_PROGRAM_GENERATE_H
#define GPT2_PROGRAM_GENERATE_H

#include "program.h"
#include "ranks.h"
#include "stop.h"

/* ---- the prompts (prompts.c) ---- */

struct prompts {
    struct gpt2_text at[MOST_PROMPTS];
    int count;
};

/* Texts of the command line, files, standard input for -; without any, one empty prompt. From a file or standard input one
 * newline at the end is left out. False: a file that cannot be read; standard input twice. */
bool prompts_read(struct prompts *prompts, const struct options *options, struct gpt2_error *error);
void prompts_close(struct prompts *prompts);

/* ---- the run ---- */

enum ending { GOES_ON, BY_TOKENS, BY_END_OF_TEXT, BY_STOP, BY_CONTEXT };

struct sequence {
    struct gpt2_ids ids; /* the prompt, then the written tokens */
    size_t prompt;       /* tokens of the prompt */
    size_t first;        /* the first token that is still in the context */
    enum ending ending;
    const char *stop; /* that ended it */
    struct stop_search search;
    struct gpt2_stream stream;
    struct gpt2_text text; /* that is not printed yet: UTF-8, without the held-back beginning of a stop */
};

struct generation {
    const struct options *options;
    struct gpt2_collective group; /* the ranks, which all do what follows */
    struct gpt2_division division;
    bool alike; /* a failure is that of all ranks: one message for all */
    struct session session;
    struct prompts prompts;
    struct sequence sequences[MOST_PROMPTS];
    int B, longest, context, V;
    int choices; /* the number of ids with a token: the first ones of V */
    struct gpt2_sampling sampling;
    uint64_t random[MOST_PROMPTS]; /* of draws */
    uint8_t *seen;                 /* (B, V) of struct gpt2_draws */
    int32_t *tokens;               /* (B, T) of a pass */
    char last;                     /* the last byte on standard output */
    long written;
    enum gpt2_form decode_form; /* that ran */
    double load_seconds, prompt_seconds, decode_seconds;
};

/* ---- as JSON (generate_json.c) ---- */

/* Prints one object and a newline. docs/gpt2.md has the schema. */
bool generate_print_json(const struct generation *g, struct gpt2_error *error);

#endif

/* stop.h — finds stop texts in a text that arrives piece by piece, and holds back what may be the beginning of one. */
#ifndef GPT2_PROGRAM_STOP_H
#define GPT2_PROGRAM_STOP_H

#include "gpt2/program/arguments.h"
#include "gpt2/tokenizer/tokenizer.h"

/* Start with {.stops = ...}; the texts are not empty. */
struct stop_search {
    const struct text_list *stops;
    struct gpt2_text held; /* the longest end of the text that begins a stop */
};

/* Adds bytes to the text. Appends to *passed what can be no part of a stop. *found: the stop that is complete, or NULL. The
 * first to be complete ends the text; of several, the longest. Nothing of it, and nothing after it, is passed. */
bool stop_push(struct stop_search *search, const void *bytes, size_t size, struct gpt2_text *passed, const char **found,
               struct gpt2_error *error);

/* The text has ended without a stop: appends what was held back. */
bool stop_flush(struct stop_search *search, struct gpt2_text *passed, struct gpt2_error *error);

void stop_close(struct stop_search *search);

#endif

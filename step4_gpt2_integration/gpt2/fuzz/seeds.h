/* seeds.h — the scratch folder of the fuzz targets, with a small valid input of each kind. */
#ifndef GPT2_FUZZ_SEEDS_H
#define GPT2_FUZZ_SEEDS_H

#include "gpt2/formats/config.h"
#include "gpt2/tokenizer/tokenizer.h"

extern const struct gpt2_config fuzz_config; /* of all its models */
extern const char fuzz_lesson[];             /* the text for learning a tokenizer */
extern struct gpt2_tokenizer *fuzz_learned;
extern struct gpt2_error fuzz_error; /* of all calls in a target */

/* Aborts the process, which the fuzzer reports, unless the condition holds. */
void fuzz_must(bool ok);

/* The path of a file in the folder; valid for the next three calls. */
const char *fuzz_at(const char *name);

/* Writes such a file and clears the message. */
const char *fuzz_put(const char *name, const void *bytes, size_t size);

#endif

/* seeds.h — the scratch folder of the fuzz targets: a small valid input of each kind, and room for the broken ones. */
#ifndef GPT2_FUZZ_SEEDS_H
#define GPT2_FUZZ_SEEDS_H

#include "gpt2/formats/config.h"
#include "gpt2/tokenizer/tokenizer.h"

extern const struct gpt2_config fuzz_config; /* of all models there */
extern const char fuzz_lesson[];             /* text that a tokenizer is learned from */
extern struct gpt2_tokenizer *fuzz_learned;
extern struct gpt2_error fuzz_error; /* what every call in a target writes to */

/* Stop the process, for the fuzzer to see, unless this holds. */
void fuzz_must(bool ok);

/* The path of a file in the folder; good until four more were asked for. */
const char *fuzz_at(const char *name);

/* Write such a file, and clear the message. */
const char *fuzz_put(const char *name, const void *bytes, size_t size);

#endif

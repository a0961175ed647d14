/* tokens.h — files of token ids in llm.c's format, for training and evaluation.
 *
 * A header as in llmc.h, with header[2] the number of tokens; then the ids as uint16, so at most 65535.
 */
#ifndef GPT2_TOKENS_H
#define GPT2_TOKENS_H

#include "gpt2/file.h"

struct gpt2_tokens {
    const uint16_t *ids; /* (count) */
    int64_t count;
    struct gpt2_file file;
};

/* *tokens: is it such a file, by its magic, or a text? Refused: a file that is neither; a text has no zero byte. */
bool gpt2_tokens_or_text(const struct gpt2_file *file, bool *tokens, struct gpt2_error *error);

/* Refused: another magic or version (1), a length that differs from the header's, an id that is not below `vocabulary` (the
 * whole file is checked, about 1 ms a MB). */
bool gpt2_tokens_open(struct gpt2_tokens *tokens, const char *path, int vocabulary, struct gpt2_error *error);
void gpt2_tokens_close(struct gpt2_tokens *tokens);

/* The number of batches of B rows of T tokens for one of `processes` parallel processes, cut as llm.c does: a batch reads B*T + 1
 * tokens, because targets are the inputs shifted by one, and the next batch starts B*T*processes further. */
int64_t gpt2_tokens_batches(const struct gpt2_tokens *tokens, int B, int T, int processes);

/* The B*T + 1 ids of batch `index` for process `rank`; NULL for an index past gpt2_tokens_batches. */
const uint16_t *gpt2_tokens_batch(const struct gpt2_tokens *tokens, int64_t index, int B, int T, int rank,
                                  int processes);

/* Writes such a file. Refused: an id outside 0..65535. */
bool gpt2_tokens_write(const char *path, const int32_t *ids, int64_t count, struct gpt2_error *error);

#endif

/* tokens.h — files of token ids, as llm.c keeps them: what training and evaluation read.
 *
 * Header as in llmc.h: header[2] = the number of tokens; then uint16 each, so ids end at 65535.
 */
#ifndef GPT2_TOKENS_H
#define GPT2_TOKENS_H

#include "gpt2/file.h"

struct gpt2_tokens {
    const uint16_t *ids; /* (count) */
    int64_t count;
    struct gpt2_file file;
};

/* Is it such a file, told by its magic, or a text? Refused: neither, for a text has no zero byte. */
bool gpt2_tokens_or_text(const struct gpt2_file *file, bool *tokens, struct gpt2_error *error);

/* vocabulary: ids must be below it. Refused: another magic or version (1), another length than the header says, a token
 * outside the vocabulary (the whole file is looked at: about 1 ms a MB). */
bool gpt2_tokens_open(struct gpt2_tokens *tokens, const char *path, int vocabulary, struct gpt2_error *error);
void gpt2_tokens_close(struct gpt2_tokens *tokens);

/* Batches of B rows of T tokens for one of `processes` that train together, as llm.c cuts them: a batch reads B*T + 1 tokens
 * (the targets are the inputs, one later), and the next one starts B*T*processes further. */
int64_t gpt2_tokens_batches(const struct gpt2_tokens *tokens, int B, int T, int processes);

/* The B*T + 1 ids of batch `index` for process `rank`; NULL where gpt2_tokens_batches says there is none. */
const uint16_t *gpt2_tokens_batch(const struct gpt2_tokens *tokens, int64_t index, int B, int T, int rank,
                                  int processes);

/* Write such a file. Each id must be in 0..65535, or it is refused. */
bool gpt2_tokens_write(const char *path, const int32_t *ids, int64_t count, struct gpt2_error *error);

#endif

/* data.h — training data: a file of tokens, or a text that is tokenized; and the order of its windows.
 *
 * The tokens are cut into windows of T, each with one more token for the targets. An epoch visits all windows once, in an order
 * that depends on the seed and the epoch. The position in the data is one number, the windows taken so far.
 */
#ifndef GPT2_DATA_H
#define GPT2_DATA_H

#include "gpt2/formats/tokens.h"
#include "gpt2/tokenizer/tokenizer.h"

struct gpt2_data {
    struct gpt2_tokens tokens; /* of a file of tokens, */
    struct gpt2_ids ids;       /* or of a text */
    int64_t count;             /* number of tokens */
    uint64_t hash;             /* of all tokens: identifies the data */
};

/* path: llm.c's token file or a text (gpt2_tokens_or_text). Refused: any other file; fewer than T + 1 tokens; a token outside the
 * vocabulary. */
bool gpt2_data_open(struct gpt2_data *data, const char *path, struct gpt2_tokenizer *tokenizer, int vocabulary, int T,
                    struct gpt2_error *error);
void gpt2_data_close(struct gpt2_data *data); /* may be called on an all-zero struct */

int64_t gpt2_data_windows(const struct gpt2_data *data, int T); /* in an epoch; at least 1 */

/* B windows, from the `taken`-th of all epochs on. Without `shuffled` they are in the order of the file. tokens, targets: (B,
 * T) */
void gpt2_data_batch(const struct gpt2_data *data, int64_t taken, uint64_t seed, bool shuffled, int B, int T,
                     int32_t *tokens, int32_t *targets);

/* A permutation of 0..count-1 for each epoch: the window at place `index`. */
int64_t gpt2_data_shuffled(int64_t index, int64_t count, uint64_t seed, int64_t epoch);

#endif

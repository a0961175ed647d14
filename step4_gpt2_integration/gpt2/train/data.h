/* data.h — what is trained on: a file of tokens, or a text that a tokenizer makes tokens of; and the order of its windows.
 *
 * The tokens are cut into windows of T, each with one token more for the targets. Every epoch goes through all windows once, in an
 * order of its own that the seed decides. Where training is in all this is one number: windows taken so far.
 */
#ifndef GPT2_DATA_H
#define GPT2_DATA_H

#include "gpt2/formats/tokens.h"
#include "gpt2/tokenizer/tokenizer.h"

struct gpt2_data {
    struct gpt2_tokens tokens; /* of a file of tokens; or else */
    struct gpt2_ids ids;       /* of a text */
    int64_t count;             /* tokens */
    uint64_t hash;             /* of all of them: is it the same data? */
};

/* path: llm.c's token file or a text (gpt2_tokens_or_text). Refused: neither; fewer than T + 1 tokens; a token outside the vocabulary. */
bool gpt2_data_open(struct gpt2_data *data, const char *path, struct gpt2_tokenizer *tokenizer, int vocabulary, int T,
                    struct gpt2_error *error);
void gpt2_data_close(struct gpt2_data *data); /* may be called on an all-zero struct */

int64_t gpt2_data_windows(const struct gpt2_data *data, int T); /* in an epoch; at least 1 */

/* B windows, from the `taken`-th of all epochs. shuffled: else the windows come as they lie. tokens, targets: (B, T) */
void gpt2_data_batch(const struct gpt2_data *data, int64_t taken, uint64_t seed, bool shuffled, int B, int T,
                     int32_t *tokens, int32_t *targets);

/* Where `index` of 0..count-1 goes in the order of an epoch: each place once. */
int64_t gpt2_data_shuffled(int64_t index, int64_t count, uint64_t seed, int64_t epoch);

#endif

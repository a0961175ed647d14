/* tokenizer.h — text to token ids and back: GPT-2's byte-level BPE, exactly.
 *
 *     struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open("gpt2-124M", error);
 *     struct gpt2_ids ids = {0};
 *     gpt2_tokenizer_encode(tokenizer, text, size, false, &ids, error);       // appends
 *     ...
 *     gpt2_ids_free(&ids);
 *     gpt2_tokenizer_close(tokenizer);
 *
 * encode: added.c finds added tokens. GPT-2's regular expression splits the rest into pre-tokens (pretokenize.c). encode.c
 * merges the bytes of each pre-token, pair by pair, in the order in which the pairs were learned. A cache holds the results of
 * frequent pre-tokens. Any bytes can be encoded, also invalid UTF-8, and decode returns the same bytes, except for white space
 * that an added token takes and a prefix blank.
 *
 * A tokenizer owns scratch memory, so only one thread at a time may encode with it.
 */
#ifndef GPT2_TOKENIZER_H
#define GPT2_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "gpt2/error.h"

struct gpt2_tokenizer;

/* Growing arrays; start with {0}. */
struct gpt2_ids {
    int32_t *ids; /* (count) */
    size_t count, room;
};
struct gpt2_text {
    char *bytes; /* (size), NUL-terminated unless empty; may hold NULs */
    size_t size, room;
};
void gpt2_ids_free(struct gpt2_ids *ids);
void gpt2_text_free(struct gpt2_text *text);

/* ---- files ---- */

/* path: a folder of Hugging Face's, whose files count as for AutoTokenizer (hf_folder.c); or a tokenizer file of llm.c, whose
 * order of tokens determines the merges. NULL and a message for a missing or invalid file; when the ids of the vocabulary are
 * not 0..n-1, each once; when a byte has no token; when a part or the result of a merge is not a token; for a setting that is
 * not supported. */
struct gpt2_tokenizer *gpt2_tokenizer_open(const char *path, struct gpt2_error *error);

/* Learns a tokenizer: the 256 bytes, then merges of the most frequent pair (of equally frequent ones, that with the smaller
 * ids), and <|endoftext|> as the last token. It stops at `vocabulary` tokens, or when no pair occurs `least` times.
 * <|endoftext|> in the text separates documents. The same text gives the same tokenizer on every machine. */
struct gpt2_tokenizer *gpt2_tokenizer_train(const void *text, size_t size, int vocabulary, int least,
                                            struct gpt2_error *error);

/* NULL is allowed. */
void gpt2_tokenizer_close(struct gpt2_tokenizer *tokenizer);

/* Writes vocab.json and merges.txt to an existing folder, and where these are not all, tokenizer_config.json. */
bool gpt2_tokenizer_write_hf(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error);

/* Writes llm.c's file, which has no merges. Refused, because it could not be read again: a token of more than 255 bytes, no
 * <|endoftext|>, an order of tokens that differs from that of the merges, other added tokens, add_prefix_space. */
bool gpt2_tokenizer_write_llmc(const struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error);

/* ---- tokens ---- */

/* The number of tokens n, with added ones; ids are 0..n-1. */
int gpt2_tokenizer_size(const struct gpt2_tokenizer *tokenizer);

/* The id of the added token <|endoftext|>; -1: there is none, or no file has it. */
int gpt2_tokenizer_end_of_text(const struct gpt2_tokenizer *tokenizer);

/* The bytes of one token, not NUL-terminated; NULL: no such id. */
const uint8_t *gpt2_tokenizer_token(const struct gpt2_tokenizer *tokenizer, int id, size_t *size);

/* The id of the token of the vocabulary with exactly these bytes, or -1. */
int gpt2_tokenizer_find(const struct gpt2_tokenizer *tokenizer, const void *bytes, size_t size);

/* Does it fit a model with this vocabulary? The model must have all ids of the tokenizer's vocabulary, and at most the padding
 * to a multiple of 128 besides. Added tokens may be beyond it: a pass refuses them.
 * path: the model's, for the message. */
bool gpt2_tokenizer_fits(const struct gpt2_tokenizer *tokenizer, int vocabulary, const char *path,
                         struct gpt2_error *error);

/* Is the regular expression compiled to machine code? Interpreted it is about ten times slower. */
bool gpt2_tokenizer_is_compiled(const struct gpt2_tokenizer *tokenizer);

/* ---- text to ids ---- */

/* Appends the ids of `size` bytes of text. Each added token in it becomes that one token; without `special` those that are
 * special, as "<|endoftext|>", are ordinary text. False: out of memory; ids->count is unchanged. */
bool gpt2_tokenizer_encode(struct gpt2_tokenizer *tokenizer, const void *text, size_t size, bool special,
                           struct gpt2_ids *ids, struct gpt2_error *error);

/* ---- ids to text ---- */

/* Appends the bytes of `count` ids. False for an id that does not exist; text->size is unchanged. */
bool gpt2_tokenizer_decode(const struct gpt2_tokenizer *tokenizer, const int32_t *ids, size_t count,
                           struct gpt2_text *text, struct gpt2_error *error);

/* Decoding token by token, for a terminal: the output has only complete UTF-8 sequences. A character whose bytes are in several
 * tokens is output with the last of them. Invalid bytes become U+FFFD, as with Python's errors="replace". */
struct gpt2_stream {
    uint8_t pending[4]; /* the first bytes of a character */
    int count;
};

/* Appends the characters that are complete. */
bool gpt2_stream_push(struct gpt2_stream *stream, const struct gpt2_tokenizer *tokenizer, int id,
                      struct gpt2_text *text, struct gpt2_error *error);
bool gpt2_stream_bytes(struct gpt2_stream *stream, const void *bytes, size_t size, struct gpt2_text *text,
                       struct gpt2_error *error);

/* Ends the stream: an incomplete character becomes U+FFFD. The stream can be reused. */
bool gpt2_stream_end(struct gpt2_stream *stream, struct gpt2_text *text, struct gpt2_error *error);

#endif

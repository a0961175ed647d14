/* tokenizer.h — text to token ids and back: GPT-2's byte-level BPE, exactly.
 *
 *     struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open("gpt2-124M", error);
 *     struct gpt2_ids ids = {0};
 *     gpt2_tokenizer_encode(tokenizer, text, size, false, &ids, error);       // appends
 *     ...
 *     gpt2_ids_free(&ids);
 *     gpt2_tokenizer_close(tokenizer);
 *
 * Flow of encode: pieces.c cuts the text at words by GPT-2's regular expression; merge.c joins the bytes of each piece, pair
 * after pair, in the order in which the pairs were learned; a cache remembers the pieces that come again. Any bytes can be
 * encoded, also those that are no UTF-8, and decode gives the same bytes back.
 *
 * A tokenizer keeps room to work in, so one thread at a time may encode with it.
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
    char *bytes; /* (size), and a NUL after them once there are any; may hold NULs of its own */
    size_t size, room;
};
void gpt2_ids_free(struct gpt2_ids *ids);
void gpt2_text_free(struct gpt2_text *text);

/* ---- files ---- */

/* path: a folder with vocab.json and merges.txt, or else with tokenizer.json; or a tokenizer file of llm.c, from whose order of
 * tokens the merges follow. NULL and a message when a file is missing or invalid; when the ids are not 0..n-1, each once; when
 * a byte has no token; when a merge joins or gives what is no token. */
struct gpt2_tokenizer *gpt2_tokenizer_open(const char *path, struct gpt2_error *error);

/* Learn one: the 256 bytes, then merges, the most frequent pair first (of equal ones the pair with the smaller ids), until
 * there are `vocabulary` tokens with the last, <|endoftext|>, or no pair is there `least` times. <|endoftext|> in the text
 * separates documents. The same text gives the same tokenizer, on every machine. */
struct gpt2_tokenizer *gpt2_tokenizer_train(const void *text, size_t size, int vocabulary, int least,
                                            struct gpt2_error *error);

/* NULL is fine. */
void gpt2_tokenizer_close(struct gpt2_tokenizer *tokenizer);

/* vocab.json and merges.txt in a folder that is there. */
bool gpt2_tokenizer_write_hf(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error);

/* The file of llm.c, which has no merges. Refused where it could not be read again: a token of more than 255 bytes, no
 * <|endoftext|>, tokens whose order is not that of the merges. */
bool gpt2_tokenizer_write_llmc(const struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error);

/* ---- tokens ---- */

/* n: ids are 0..n-1. */
int gpt2_tokenizer_size(const struct gpt2_tokenizer *tokenizer);

/* The id of <|endoftext|>, or -1. */
int gpt2_tokenizer_end_of_text(const struct gpt2_tokenizer *tokenizer);

/* The bytes of one token, without a NUL after them; NULL when there is no such id. */
const uint8_t *gpt2_tokenizer_token(const struct gpt2_tokenizer *tokenizer, int id, size_t *size);

/* The id of the token with exactly these bytes, or -1. */
int gpt2_tokenizer_find(const struct gpt2_tokenizer *tokenizer, const void *bytes, size_t size);

/* Does it belong to a model with this vocabulary? All its ids must exist there, and the model may have at most what padding
 * to a multiple of 128 adds. path: the model's, for the message. */
bool gpt2_tokenizer_fits(const struct gpt2_tokenizer *tokenizer, int vocabulary, const char *path,
                         struct gpt2_error *error);

/* Is the regular expression compiled to machine code? (Else it is interpreted, some ten times slower.) */
bool gpt2_tokenizer_is_compiled(const struct gpt2_tokenizer *tokenizer);

/* ---- text to ids ---- */

/* Append the ids of `size` bytes of text. special: "<|endoftext|>" in it becomes that one token; else it is text like any
 * other. False without memory; then ids->count is what it was. */
bool gpt2_tokenizer_encode(struct gpt2_tokenizer *tokenizer, const void *text, size_t size, bool special,
                           struct gpt2_ids *ids, struct gpt2_error *error);

/* ---- ids to text ---- */

/* Append the bytes of `count` ids. False when an id does not exist; then text->size is what it was. */
bool gpt2_tokenizer_decode(const struct gpt2_tokenizer *tokenizer, const int32_t *ids, size_t count,
                           struct gpt2_text *text, struct gpt2_error *error);

/* Token after token, for a terminal: only whole UTF-8 sequences come out. A character whose bytes are spread over tokens comes
 * with the last of them; what can never become a character comes as U+FFFD, as Python's errors="replace" has it. */
struct gpt2_stream {
    uint8_t pending[4]; /* the start of a character */
    int count;
};

/* Append what is complete now. */
bool gpt2_stream_push(struct gpt2_stream *stream, const struct gpt2_tokenizer *tokenizer, int id,
                      struct gpt2_text *text, struct gpt2_error *error);

/* The end: a character that is not whole becomes U+FFFD. The stream can be used again. */
bool gpt2_stream_end(struct gpt2_stream *stream, struct gpt2_text *text, struct gpt2_error *error);

#endif

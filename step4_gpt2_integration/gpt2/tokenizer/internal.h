/* internal.h — what the files of the tokenizer share. */
#ifndef GPT2_TOKENIZER_INTERNAL_H
#define GPT2_TOKENIZER_INTERNAL_H

#include "gpt2/file.h"
#include "gpt2/tokenizer/tokenizer.h"

enum { TOKENIZER_MOST_TOKENS = 1 << 24, TOKENIZER_LONGEST_TOKEN = 1 << 16, END_OF_TEXT_BYTES = 13 };

#define END_OF_TEXT "<|endoftext|>"

/* ---- tables ---- */

/* Two tokens side by side that become one. rank: its place in the order of learning; the lowest goes first. */
struct merge {
    int32_t left, right, result;
};

/* From a pair to its merge: open addressing, a power of two slots, at most half of them taken. */
struct pair_slot {
    uint64_t key;         /* pair_key() */
    int32_t rank, result; /* rank -1: free */
};
struct pair_table {
    struct pair_slot *slots;
    size_t mask; /* slots - 1 */
};

static inline uint64_t pair_key(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot of a pair, or the free one where it would go. */
static inline struct pair_slot *pair_find(const struct pair_table *table, uint64_t key) {
    size_t at = (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 20) & table->mask;
    while (table->slots[at].rank >= 0 && table->slots[at].key != key) { at = (at + 1) & table->mask; }
    return &table->slots[at];
}

uint64_t hash_bytes(const uint8_t *bytes, size_t size);

/* ---- the tokenizer ---- */

struct token {
    size_t offset; /* into pool */
    uint32_t size; /* 0: this id is not there (yet) */
};

/* A piece that was encoded before. One line of the processor's cache each. */
enum { CACHE_BYTES = 30, CACHE_IDS = 8, CACHE_ENTRIES = 1 << 15 };
struct cached {
    uint8_t size, count; /* count 0: free */
    uint8_t bytes[CACHE_BYTES];
    int32_t ids[CACHE_IDS];
};

/* Room for merge.c; grown as needed. */
struct symbol {
    int32_t id, rank, result; /* of the pair with the next symbol: rank INT32_MAX when there is no such merge */
    int32_t previous, next;   /* long pieces: a doubly linked list; -1 ends it */
};
struct candidate {
    int32_t rank, at, result;
};

struct gpt2_tokenizer {
    char *path; /* for messages */
    uint8_t *pool;
    size_t pool_size, pool_room;
    struct token *tokens; /* (count) */
    int count, token_room;
    int most; /* tokens that there will be at the most: ids are 0..most-1; set before the first is added */
    int32_t byte_token[256];
    int end_of_text;   /* -1: none */
    int32_t *by_bytes; /* open addressing: ids by their bytes; -1: free */
    size_t by_bytes_mask;
    struct merge *merges; /* (merge_count), by rank */
    int merge_count, merge_room;
    struct pair_table pairs;
    struct pieces *pieces;
    struct cached *cache; /* (CACHE_ENTRIES) */
    struct symbol *symbols;
    struct candidate *heap;
    size_t symbol_room, heap_room;
};

/* Make room for `count` elements of `size` bytes in *array, of which *room are there. */
bool grow(void *array, size_t *room, size_t count, size_t size);

/* ---- building one (tokenizer.c) ---- */

/* In this order: new, every token, index, every merge, finish. Each leaves a message when it fails; the caller closes. */
struct gpt2_tokenizer *tokenizer_new(const char *path, struct gpt2_error *error);
bool tokenizer_add_token(struct gpt2_tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t size,
                         struct gpt2_error *error);
bool tokenizer_index(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);
/* One more, after tokenizer_index; there may be `most` in all. */
bool tokenizer_add_to_index(struct gpt2_tokenizer *tokenizer, int id, struct gpt2_error *error);
/* where: "merges.txt, line 12" for the message. */
bool tokenizer_add_merge(struct gpt2_tokenizer *tokenizer, int left, int right, const char *where,
                         struct gpt2_error *error);
bool tokenizer_finish(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);

/* ---- the forms of files; each fills a new tokenizer up to, not with, tokenizer_finish ---- */

bool tokenizer_read_vocabulary(struct gpt2_tokenizer *tokenizer, const char *vocabulary, const char *merges,
                               struct gpt2_error *error);
bool tokenizer_read_json(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error);
bool tokenizer_read_llmc(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error);

/* ---- characters (characters.c) ---- */

/* The character that stands for a byte in vocab.json, and back (-1: none does). */
int character_of_byte(int byte);
int byte_of_character(uint32_t character);

/* The token in its spelling of vocab.json to bytes, in place of which `bytes` (room for `size`) is filled. -1: a character
 * that stands for no byte, or no UTF-8. */
int64_t bytes_of_spelling(const char *spelling, size_t size, uint8_t *bytes);

/* Append the spelling of bytes; room for 2 * size. Returns its length. */
size_t spell_bytes(const uint8_t *bytes, size_t size, char *spelling);

/* The UTF-8 sequence at the start: its length; or minus the number of bytes that can be part of none; or 0 when the end cuts
 * one short that is right so far. size > 0. */
int utf8_sequence(const uint8_t *bytes, size_t size);

/* How many bytes from the start are whole, valid sequences. */
size_t utf8_valid(const uint8_t *bytes, size_t size);

/* ---- pieces (pieces.c) ---- */

/* The compiled expression and its room; NULL and a message if PCRE2 cannot. compile: to machine code, where that is possible. */
struct pieces *pieces_new(bool compile, struct gpt2_error *error);
void pieces_free(struct pieces *pieces);
bool pieces_compiled(const struct pieces *pieces);

/* Where does the piece that starts at `at` end? text: valid UTF-8, at < size. 0 and a message when PCRE2 gives up. */
size_t piece_end(struct pieces *pieces, const uint8_t *text, size_t size, size_t at, struct gpt2_error *error);

/* Call visit() with every piece of any text: words of valid runs by the expression; bytes between them that are no UTF-8 make
 * a piece of their own. */
bool each_piece(struct pieces *pieces, const uint8_t *text, size_t size,
                bool (*visit)(void *context, const uint8_t *piece, size_t size, struct gpt2_error *error),
                void *context, struct gpt2_error *error);

/* ---- merging (merge.c) ---- */

/* The ids of one piece, appended. Short ones by looking through all pairs, long ones with a heap: the same result. */
bool merge_piece(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                 struct gpt2_error *error);
bool merge_by_scan(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error);
bool merge_by_heap(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error);

#endif

/* internal.h — shared by the files of the tokenizer. */
#ifndef GPT2_TOKENIZER_INTERNAL_H
#define GPT2_TOKENIZER_INTERNAL_H

#include <cjson/cJSON.h>

#include "gpt2/file.h"
#include "gpt2/tokenizer/tokenizer.h"

enum { TOKENIZER_MOST_TOKENS = 1 << 24, TOKENIZER_LONGEST_TOKEN = 1 << 16, END_OF_TEXT_BYTES = 13 };

#define END_OF_TEXT "<|endoftext|>"

/* ---- tables ---- */

/* Two neighbouring tokens that become one. Its rank is its place in the order of learning; the lowest is applied first. */
struct merge {
    int32_t left, right, result;
};

/* A hash table from pairs to merges: open addressing, a power of two of slots, at most half of them used. */
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

/* The slot of a pair, or the free one for it. */
static inline struct pair_slot *pair_find(const struct pair_table *table, uint64_t key) {
    size_t at = (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 20) & table->mask;
    while (table->slots[at].rank >= 0 && table->slots[at].key != key) { at = (at + 1) & table->mask; }
    return &table->slots[at];
}

uint64_t hash_bytes(const uint8_t *bytes, size_t size);

/* ---- the tokenizer ---- */

struct token {
    size_t offset; /* into pool */
    uint32_t size; /* 0: no such id (yet) */
};

/* A text that is one token wherever it occurs (added.c). */
struct added_token {
    int32_t id;
    bool special, normalized; /* normalized: searched for after those that are not */
    bool lstrip, rstrip;      /* white space before or after it belongs to it */
    size_t offset;            /* of the text; into pool */
    uint32_t size;
};
struct added_finder {
    int *sorted; /* (count) indices of added tokens, by their texts */
    int count;
    bool begins[256]; /* does one begin with this byte? */
};

/* A pre-token that was encoded before: 64 bytes, a cache line. */
enum { CACHE_BYTES = 30, CACHE_IDS = 8, CACHE_ENTRIES = 1 << 15 };
struct cached {
    uint8_t size, count; /* count 0: free */
    uint8_t bytes[CACHE_BYTES];
    int32_t ids[CACHE_IDS];
};

/* Scratch of encode.c, grown as needed. */
struct symbol {
    int32_t id, rank, result; /* rank, result: of the pair with the next symbol; rank INT32_MAX: no merge */
    int32_t previous, next;   /* for long pre-tokens: a doubly linked list, ended by -1 */
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
    int most;    /* the largest number of tokens: ids are 0..most-1; set before the first is added */
    int learned; /* ids from here on are of added tokens that the vocabulary lacks; set by tokenizer_index */
    int32_t byte_token[256];
    int end_of_text;   /* -1: none */
    bool prefix_space; /* a text that does not begin with a blank gets one, as does each text between added tokens */
    struct added_token *added; /* (added_count) */
    int added_count, added_room;
    struct added_finder finders[2]; /* of the tokens that are not normalized, and that are */
    int32_t *by_bytes;              /* open addressing: ids by their bytes; -1: free */
    size_t by_bytes_mask;
    struct merge *merges; /* (merge_count), by rank */
    int merge_count, merge_room;
    struct pair_table pairs;
    struct pretokenizer *pretokenizer;
    struct cached *cache; /* (CACHE_ENTRIES) */
    struct symbol *symbols;
    struct candidate *heap;
    size_t symbol_room, heap_room;
};

/* Grows *array, which has room for *room elements of `size` bytes, to `count` elements. */
bool grow(void *array, size_t *room, size_t count, size_t size);

/* ---- building one (tokenizer.c) ---- */

/* In this order: new, every token, index, every merge, every added token, finish_added, finish. Each writes a message when it
 * fails; the caller closes. */
struct gpt2_tokenizer *tokenizer_new(const char *path, struct gpt2_error *error);
bool tokenizer_add_token(struct gpt2_tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t size,
                         struct gpt2_error *error);
bool tokenizer_index(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);
/* Adds one more token after tokenizer_index, up to `most`. */
bool tokenizer_add_to_index(struct gpt2_tokenizer *tokenizer, int id, struct gpt2_error *error);
/* where: for the message, "merges.txt, line 12". */
bool tokenizer_add_merge(struct gpt2_tokenizer *tokenizer, int left, int right, const char *where,
                         struct gpt2_error *error);
/* An added token with these flags; the flags of a text that has been added change. Its id is that of the token of the
 * vocabulary with this spelling, else the next free one. */
bool tokenizer_add_added(struct gpt2_tokenizer *tokenizer, const char *text, struct added_token flags,
                         struct gpt2_error *error);
bool tokenizer_finish_added(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);
/* In place of both: <|endoftext|> alone, where the vocabulary has it. */
bool tokenizer_add_end_of_text(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);
bool tokenizer_finish(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error);

/* Nothing but a vocabulary, merges, and <|endoftext|> as a special token? */
bool tokenizer_is_plain(const struct gpt2_tokenizer *tokenizer);

/* ---- using added tokens (added.c) ---- */

/* The first token in the text from *at on, of pass 0 or 1 (`finders`), and its place in *at; NULL: there is none. */
const struct added_token *added_find(const struct gpt2_tokenizer *tokenizer, int pass, const uint8_t *text, size_t size,
                                     size_t *at);

/* The number of bytes of white space at the start; and the number of bytes before the white space at the end. */
size_t blanks_after(const uint8_t *text, size_t size);
size_t blanks_before(const uint8_t *text, size_t size);

/* ---- readers of the file formats: each fills a new tokenizer; the caller calls tokenizer_finish ---- */

/* A folder of Hugging Face's (hf_folder.c), from its files (hf_files.c): the vocabulary of vocab.json and merges.txt, or of the
 * "model" of a tokenizer.json. tokenizer->path names the file. */
bool tokenizer_read_folder(struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error);
bool tokenizer_read_vocabulary(struct gpt2_tokenizer *tokenizer, const char *merges, struct gpt2_error *error);
bool tokenizer_read_model(struct gpt2_tokenizer *tokenizer, const cJSON *model, struct gpt2_error *error);
bool tokenizer_read_llmc(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error);

/* ---- characters (characters.c) ---- */

/* The character for a byte in vocab.json, and back (-1: none). */
int character_of_byte(int byte);
int byte_of_character(uint32_t character);

/* Converts a token's spelling in vocab.json to `bytes` (room for `size`). Returns their number; -1: a character without a byte,
 * or invalid UTF-8. */
int64_t bytes_of_spelling(const char *spelling, size_t size, uint8_t *bytes);

/* Writes the spelling of bytes (room for 2 * size). Returns its length. */
size_t spell_bytes(const uint8_t *bytes, size_t size, char *spelling);

/* The length of the UTF-8 sequence at the start; or minus the number of invalid bytes; or 0 for a valid but incomplete sequence.
 * size > 0. */
int utf8_sequence(const uint8_t *bytes, size_t size);

/* The number of bytes at the start that are complete, valid sequences. */
size_t utf8_valid(const uint8_t *bytes, size_t size);

/* ---- pre-tokens (pretokenize.c) ---- */

/* The regular expression; NULL and a message if PCRE2 fails. compile: to machine code, where that is possible. */
struct pretokenizer *pretokenizer_new(bool compile, struct gpt2_error *error);
void pretokenizer_free(struct pretokenizer *pretokenizer);
bool pretokenizer_compiled(const struct pretokenizer *pretokenizer);

/* The end of the pre-token that starts at `at`. text: valid UTF-8, at < size. 0 and a message when PCRE2 fails. */
size_t pretoken_end(struct pretokenizer *pretokenizer, const uint8_t *text, size_t size, size_t at,
                    struct gpt2_error *error);

/* Calls visit() for every pre-token of a text. The regular expression splits the valid UTF-8; invalid bytes in between are
 * pre-tokens of their own. */
bool each_pretoken(struct pretokenizer *pretokenizer, const uint8_t *text, size_t size,
                   bool (*visit)(void *context, const uint8_t *pretoken, size_t size, struct gpt2_error *error),
                   void *context, struct gpt2_error *error);

/* ---- merging (encode.c) ---- */

/* Appends the ids of one pre-token. Short ones are merged by scanning all pairs, long ones with a heap; the results are equal. */
bool merge_pretoken(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                    struct gpt2_error *error);
bool merge_by_scan(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error);
bool merge_by_heap(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error);

#endif

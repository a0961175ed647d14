/* train.h — what learning keeps: the words of a text, and the pairs of tokens in them. */
#ifndef GPT2_TOKENIZER_TRAIN_H
#define GPT2_TOKENIZER_TRAIN_H

#include "gpt2/tokenizer/internal.h"

struct word {
    size_t offset;        /* of its bytes, in the text */
    int32_t *symbols;     /* (length) */
    int32_t length, size; /* tokens, bytes */
    int64_t count;
};
struct pair {
    int32_t left, right;
    int64_t count;
    int32_t *words; /* (used): that have, or had, this pair; some more than once */
    size_t used, room;
};
struct ranked { /* an entry of the heap; out of date when the pair's count is another by now */
    int64_t count;
    int32_t pair;
};

struct trainer {
    const uint8_t *text;
    struct word *words;
    size_t word_count, word_room;
    int32_t *word_slots; /* open addressing: words by their bytes; -1: free */
    size_t word_mask;
    struct pair *pairs;
    size_t pair_count, pair_room;
    struct pair_table pair_slots; /* result: index into pairs */
    struct ranked *heap;
    size_t heap_count, heap_room;
    struct gpt2_tokenizer *tokenizer;
};

/* Every word as bytes, every pair of neighbours counted and in the heap. All return false without memory. */
bool pairs_start(struct trainer *trainer);

/* The pair that is there most often, taken out of the heap: index into pairs, or -1 when there is none of at least `least`. */
bool pairs_best(struct trainer *trainer, int least, int32_t *best);

/* Join that pair to `token` wherever it stands. */
bool pairs_merge(struct trainer *trainer, int32_t best, int32_t token);

#endif

/* train.c — learns merges from a text: repeatedly, the most frequent pair of neighbouring tokens becomes a token.
 *
 * The text is split into pre-tokens first. Equal pre-tokens are one word with a count, so the work is proportional to the
 * number of distinct words. A table has, for each pair of neighbouring tokens, its count and its words; a heap gives the most
 * frequent pair. A merge changes only the words that contain the pair, and the counts of the pairs next to it.
 *
 * Ids and order are those of Hugging Face's trainer: the bytes in the order of the characters that represent them, then the
 * merges, then <|endoftext|>. Ties go to the smaller ids. Unlike there, a pair is not merged if its bytes are a token already
 * or are more than 255, so that llm.c's file, which relies on the order of the ids, can hold the result.
 */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

enum { LONGEST = 255 };

static bool out_of_memory(struct gpt2_error *error) {
    return gpt2_fail(error, "training the tokenizer: out of memory");
}

struct word {
    size_t offset;        /* of its bytes in the text */
    int32_t *symbols;     /* (length) */
    int32_t length, size; /* tokens, bytes */
    int64_t count;
};
struct pair {
    int32_t left, right;
    int64_t count;
    int32_t *words; /* (used): words that have or had this pair, possibly repeated */
    size_t used, room;
};
struct ranked { /* an entry of the heap; stale when the pair's count has changed */
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

/* ---- words ---- */

static bool grow_words(struct trainer *trainer) {
    if (trainer->word_slots && 2 * trainer->word_count <= trainer->word_mask) { return true; }
    size_t slots = trainer->word_slots ? 2 * (trainer->word_mask + 1) : 1 << 12;
    int32_t *new = malloc(slots * sizeof *new);
    if (!new) { return false; }
    memset(new, 0xff, slots * sizeof *new);
    for (size_t i = 0; i < trainer->word_count; i++) {
        const struct word *word = &trainer->words[i];
        size_t at = (size_t)hash_bytes(trainer->text + word->offset, (size_t)word->size) & (slots - 1);
        while (new[at] >= 0) { at = (at + 1) & (slots - 1); }
        new[at] = (int32_t)i;
    }
    free(trainer->word_slots);
    trainer->word_slots = new;
    trainer->word_mask = slots - 1;
    return true;
}

static bool count_piece(void *context, const uint8_t *pretoken, size_t size, struct gpt2_error *error) {
    struct trainer *trainer = context;
    if (size > INT32_MAX || trainer->word_count == INT32_MAX || !grow_words(trainer)) { return out_of_memory(error); }
    size_t at = (size_t)hash_bytes(pretoken, size) & trainer->word_mask;
    for (; trainer->word_slots[at] >= 0; at = (at + 1) & trainer->word_mask) {
        struct word *word = &trainer->words[trainer->word_slots[at]];
        if ((size_t)word->size == size && memcmp(trainer->text + word->offset, pretoken, size) == 0) {
            word->count++;
            return true;
        }
    }
    if (!grow(&trainer->words, &trainer->word_room, trainer->word_count + 1, sizeof *trainer->words)) {
        return out_of_memory(error);
    }
    trainer->word_slots[at] = (int32_t)trainer->word_count;
    trainer->words[trainer->word_count++] =
        (struct word){.offset = (size_t)(pretoken - trainer->text), .size = (int32_t)size, .count = 1};
    return true;
}

static bool count_words(struct trainer *trainer, size_t size, struct gpt2_error *error) {
    const uint8_t *at = trainer->text, *end = at + size;
    while (at < end) {
        const uint8_t *found = memmem(at, (size_t)(end - at), END_OF_TEXT, END_OF_TEXT_BYTES);
        const uint8_t *stop = found ? found : end;
        if (!each_pretoken(trainer->tokenizer->pretokenizer, at, (size_t)(stop - at), count_piece, trainer, error)) {
            return false;
        }
        at = found ? found + END_OF_TEXT_BYTES : end;
    }
    return true;
}

/* ---- pairs: counts ---- */

static bool grow_pair_slots(struct trainer *trainer) {
    size_t slots = trainer->pair_slots.slots ? trainer->pair_slots.mask + 1 : 1 << 12;
    if (trainer->pair_slots.slots && 2 * (trainer->pair_count + 1) <= slots) { return true; }
    if (trainer->pair_slots.slots) { slots *= 2; }
    struct pair_table table = {.slots = malloc(slots * sizeof *table.slots), .mask = slots - 1};
    if (!table.slots) { return false; }
    for (size_t i = 0; i < slots; i++) { table.slots[i].rank = -1; }
    for (size_t i = 0; i < trainer->pair_count; i++) {
        uint64_t key = pair_key(trainer->pairs[i].left, trainer->pairs[i].right);
        *pair_find(&table, key) = (struct pair_slot){.key = key, .rank = 0, .result = (int32_t)i};
    }
    free(trainer->pair_slots.slots);
    trainer->pair_slots = table;
    return true;
}

/* Changes a pair's count by `by`. A rise also adds `word` to the pair's words. NULL: out of memory. */
static struct pair *change_pair(struct trainer *trainer, int32_t left, int32_t right, int64_t by, int32_t word) {
    if (!grow_pair_slots(trainer)) { return NULL; }
    struct pair_slot *slot = pair_find(&trainer->pair_slots, pair_key(left, right));
    if (slot->rank < 0) {
        if (trainer->pair_count == INT32_MAX ||
            !grow(&trainer->pairs, &trainer->pair_room, trainer->pair_count + 1, sizeof *trainer->pairs)) {
            return NULL;
        }
        trainer->pairs[trainer->pair_count] = (struct pair){.left = left, .right = right};
        *slot = (struct pair_slot){pair_key(left, right), 0, (int32_t)trainer->pair_count++};
    }
    struct pair *pair = &trainer->pairs[slot->result];
    pair->count += by;
    if (by > 0 && (pair->used == 0 || pair->words[pair->used - 1] != word)) {
        if (!grow(&pair->words, &pair->room, pair->used + 1, sizeof *pair->words)) { return NULL; }
        pair->words[pair->used++] = word;
    }
    return pair;
}

static bool more_frequent(const struct trainer *trainer, const struct ranked *a, const struct ranked *b) {
    const struct pair *x = &trainer->pairs[a->pair], *y = &trainer->pairs[b->pair];
    if (a->count != b->count) { return a->count > b->count; }
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static bool push(struct trainer *trainer, int32_t pair) {
    if (!grow(&trainer->heap, &trainer->heap_room, trainer->heap_count + 1, sizeof *trainer->heap)) { return false; }
    struct ranked entry = {trainer->pairs[pair].count, pair};
    size_t at = trainer->heap_count++;
    for (; at > 0 && more_frequent(trainer, &entry, &trainer->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        trainer->heap[at] = trainer->heap[(at - 1) / 2];
    }
    trainer->heap[at] = entry;
    return true;
}

static struct ranked pop(struct trainer *trainer) {
    struct ranked *heap = trainer->heap, top = heap[0], last = heap[--trainer->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < trainer->heap_count; at = child) {
        if (child + 1 < trainer->heap_count && more_frequent(trainer, &heap[child + 1], &heap[child])) { child++; }
        if (!more_frequent(trainer, &heap[child], &last)) { break; }
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* Splits every word into bytes, counts all pairs and fills the heap. This and the next two return false when out of memory. */
static bool pairs_start(struct trainer *trainer) {
    for (size_t w = 0; w < trainer->word_count; w++) {
        struct word *word = &trainer->words[w];
        word->symbols = malloc((size_t)word->size * sizeof *word->symbols);
        if (!word->symbols) { return false; }
        word->length = word->size;
        for (int32_t i = 0; i < word->size; i++) {
            word->symbols[i] = trainer->tokenizer->byte_token[trainer->text[word->offset + (size_t)i]];
        }
        for (int32_t i = 0; i + 1 < word->size; i++) {
            if (!change_pair(trainer, word->symbols[i], word->symbols[i + 1], word->count, (int32_t)w)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < trainer->pair_count; i++) {
        if (!push(trainer, (int32_t)i)) { return false; }
    }
    return true;
}

/* Removes the most frequent pair from the heap: its index in pairs, or -1 when none occurs `least` times. */
static bool pairs_best(struct trainer *trainer, int least, int32_t *best) {
    *best = -1;
    while (trainer->heap_count > 0) {
        struct ranked top = pop(trainer);
        int64_t count = trainer->pairs[top.pair].count;
        if (count < least) { continue; } /* counts of old pairs only fall */
        if (count == top.count) {
            *best = top.pair;
            return true;
        }
        if (!push(trainer, top.pair)) { return false; }
    }
    return true;
}

/* ---- one merge ---- */

/* Joins left and right to `token` wherever they are neighbours in a word, and updates the pairs around them. */
static bool merge_in_word(struct trainer *trainer, int32_t w, int32_t left, int32_t right, int32_t token) {
    struct word *word = &trainer->words[w];
    int32_t *symbols = word->symbols, length = 0;
    bool ok = true;
    for (int32_t i = 0; i < word->length; i++) {
        if (symbols[i] != left || i + 1 == word->length || symbols[i + 1] != right) {
            symbols[length++] = symbols[i];
            continue;
        }
        if (length > 0) {
            ok = ok && change_pair(trainer, symbols[length - 1], left, -word->count, w) &&
                 change_pair(trainer, symbols[length - 1], token, word->count, w);
        }
        if (i + 2 < word->length) {
            ok = ok && change_pair(trainer, right, symbols[i + 2], -word->count, w) &&
                 change_pair(trainer, token, symbols[i + 2], word->count, w);
        }
        symbols[length++] = token;
        i++;
    }
    word->length = length;
    return ok;
}

/* Joins the pair to `token` in all its words. */
static bool pairs_merge(struct trainer *trainer, int32_t best, int32_t token) {
    struct pair pair = trainer->pairs[best]; /* a copy: the array may move */
    size_t first_new = trainer->pair_count;
    trainer->pairs[best].words = NULL;
    trainer->pairs[best].used = trainer->pairs[best].room = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < pair.used; i++) {
        ok = merge_in_word(trainer, pair.words[i], pair.left, pair.right, token);
    }
    free(pair.words);
    trainer->pairs[best].count = 0; /* no longer present */
    for (size_t i = first_new; ok && i < trainer->pair_count; i++) {
        ok = push(trainer, (int32_t)i);
    } /* all have `token` */
    return ok;
}

/* ---- tokens ---- */

/* Adds the pair as a token and a merge. *added is false where its bytes are a token already. */
static bool add_token(struct trainer *trainer, int32_t best, bool *added, struct gpt2_error *error) {
    struct gpt2_tokenizer *tokenizer = trainer->tokenizer;
    const struct token *left = &tokenizer->tokens[trainer->pairs[best].left];
    const struct token *right = &tokenizer->tokens[trainer->pairs[best].right];
    size_t size = (size_t)left->size + right->size;
    *added = false;
    if (size > LONGEST) { return true; }
    uint8_t *bytes = malloc(size);
    if (!bytes) { return out_of_memory(error); }
    memcpy(bytes, tokenizer->pool + left->offset, left->size);
    memcpy(bytes + left->size, tokenizer->pool + right->offset, right->size);
    bool ok = true;
    if (gpt2_tokenizer_find(tokenizer, bytes, size) < 0 &&
        !(size == END_OF_TEXT_BYTES && memcmp(bytes, END_OF_TEXT, size) == 0)) {
        *added = true;
        ok = tokenizer_add_token(tokenizer, tokenizer->count, bytes, size, error) &&
             tokenizer_add_to_index(tokenizer, tokenizer->count - 1, error) &&
             tokenizer_add_merge(tokenizer, trainer->pairs[best].left, trainer->pairs[best].right, "training", error);
    }
    free(bytes);
    return ok;
}

static bool learn(struct trainer *trainer, int vocabulary, int least, struct gpt2_error *error) {
    while (trainer->tokenizer->count + 1 < vocabulary) {
        int32_t best;
        bool added;
        if (!pairs_best(trainer, least, &best)) { return out_of_memory(error); }
        if (best < 0) { break; }
        if (!add_token(trainer, best, &added, error)) { return false; }
        if (added && !pairs_merge(trainer, best, trainer->tokenizer->count - 1)) { return out_of_memory(error); }
    }
    return true;
}

/* Adds the 256 bytes, in the order of the characters that represent them. */
static bool add_bytes(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    for (uint32_t character = 0; tokenizer->count < 256; character++) {
        uint8_t byte = (uint8_t)byte_of_character(character);
        if (byte_of_character(character) >= 0 && !tokenizer_add_token(tokenizer, tokenizer->count, &byte, 1, error)) {
            return false;
        }
    }
    return tokenizer_index(tokenizer, error) && tokenizer_finish(tokenizer, error);
}

static bool append_end_of_text(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    tokenizer->end_of_text = tokenizer->count;
    tokenizer->learned = tokenizer->count + 1;
    return tokenizer_add_token(tokenizer, tokenizer->count, (const uint8_t *)END_OF_TEXT, END_OF_TEXT_BYTES, error) &&
           tokenizer_add_to_index(tokenizer, tokenizer->end_of_text, error);
}

static void free_trainer(struct trainer *trainer) {
    for (size_t i = 0; i < trainer->word_count; i++) { free(trainer->words[i].symbols); }
    for (size_t i = 0; i < trainer->pair_count; i++) { free(trainer->pairs[i].words); }
    free(trainer->words);
    free(trainer->word_slots);
    free(trainer->pairs);
    free(trainer->pair_slots.slots);
    free(trainer->heap);
}

struct gpt2_tokenizer *gpt2_tokenizer_train(const void *text, size_t size, int vocabulary, int least,
                                            struct gpt2_error *error) {
    struct trainer trainer = {.text = text};
    if (vocabulary < 257 || vocabulary > TOKENIZER_MOST_TOKENS || least < 1) {
        gpt2_fail(error,
                  "a vocabulary of %d (pairs at least %d times): it takes 257 or more, for the bytes and " END_OF_TEXT,
                  vocabulary, least);
        return NULL;
    }
    trainer.tokenizer = tokenizer_new("(trained)", error);
    if (!trainer.tokenizer) { return NULL; }
    trainer.tokenizer->most = vocabulary;
    bool ok = add_bytes(trainer.tokenizer, error) && count_words(&trainer, size, error) &&
              (pairs_start(&trainer) || out_of_memory(error)) && learn(&trainer, vocabulary, least, error) &&
              append_end_of_text(trainer.tokenizer, error) && tokenizer_add_end_of_text(trainer.tokenizer, error);
    free_trainer(&trainer);
    if (ok) { return trainer.tokenizer; }
    gpt2_tokenizer_close(trainer.tokenizer);
    return NULL;
}

/* train.c — learn merges from text: the pair that is there most often becomes a token, again and again.
 *
 * The text is cut into pieces first; equal pieces are one word with a count, so the work is in proportion to the distinct
 * words. A table holds, for each pair of tokens that stand side by side, how often, and in which words; a heap gives the most
 * frequent one. After a merge only the words that hold the pair are changed, and the counts of their neighbours with them.
 *
 * Ids and order are as in Hugging Face's trainer: bytes in the order of the characters that stand for them, then the merges,
 * then <|endoftext|>. Ties go to the smaller ids. But a pair is not merged if its bytes are a token already, or are more than
 * 255: so what was learned fits into llm.c's file, which relies on the order of the ids.
 */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/train.h"

enum { LONGEST = 255 };

static bool out_of_memory(struct gpt2_error *error) {
    return gpt2_fail(error, "training the tokenizer: out of memory");
}

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

static bool count_piece(void *context, const uint8_t *piece, size_t size, struct gpt2_error *error) {
    struct trainer *trainer = context;
    if (size > INT32_MAX || trainer->word_count == INT32_MAX || !grow_words(trainer)) { return out_of_memory(error); }
    size_t at = (size_t)hash_bytes(piece, size) & trainer->word_mask;
    for (; trainer->word_slots[at] >= 0; at = (at + 1) & trainer->word_mask) {
        struct word *word = &trainer->words[trainer->word_slots[at]];
        if ((size_t)word->size == size && memcmp(trainer->text + word->offset, piece, size) == 0) {
            word->count++;
            return true;
        }
    }
    if (!grow(&trainer->words, &trainer->word_room, trainer->word_count + 1, sizeof *trainer->words)) {
        return out_of_memory(error);
    }
    trainer->word_slots[at] = (int32_t)trainer->word_count;
    trainer->words[trainer->word_count++] =
        (struct word){.offset = (size_t)(piece - trainer->text), .size = (int32_t)size, .count = 1};
    return true;
}

static bool count_words(struct trainer *trainer, size_t size, struct gpt2_error *error) {
    const uint8_t *at = trainer->text, *end = at + size;
    while (at < end) {
        const uint8_t *found = memmem(at, (size_t)(end - at), END_OF_TEXT, END_OF_TEXT_BYTES);
        const uint8_t *stop = found ? found : end;
        if (!each_piece(trainer->tokenizer->pieces, at, (size_t)(stop - at), count_piece, trainer, error)) {
            return false;
        }
        at = found ? found + END_OF_TEXT_BYTES : end;
    }
    return true;
}

/* ---- tokens ---- */

/* Add the pair as a token and a merge; false in *added where its bytes are one already. */
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

/* The 256 bytes, in the order of the characters that stand for them. */
static bool add_bytes(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    for (uint32_t character = 0; tokenizer->count < 256; character++) {
        uint8_t byte = (uint8_t)byte_of_character(character);
        if (byte_of_character(character) >= 0 && !tokenizer_add_token(tokenizer, tokenizer->count, &byte, 1, error)) {
            return false;
        }
    }
    return tokenizer_index(tokenizer, error) && tokenizer_finish(tokenizer, error);
}

static bool add_end_of_text(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    tokenizer->end_of_text = tokenizer->count;
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
              add_end_of_text(trainer.tokenizer, error);
    free_trainer(&trainer);
    if (ok) { return trainer.tokenizer; }
    gpt2_tokenizer_close(trainer.tokenizer);
    return NULL;
}

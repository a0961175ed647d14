/* train_pairs.c — the pairs of neighbouring tokens: how often, in which words, and the most frequent one. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/train.h"

/* ---- counts ---- */

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

/* Change a pair's count by `by`; where it rises, `word` is noted as one that holds it. NULL without memory. */
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

bool pairs_start(struct trainer *trainer) {
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

bool pairs_best(struct trainer *trainer, int least, int32_t *best) {
    *best = -1;
    while (trainer->heap_count > 0) {
        struct ranked top = pop(trainer);
        int64_t count = trainer->pairs[top.pair].count;
        if (count < least) { continue; } /* counts only fall: it will not be back */
        if (count == top.count) {
            *best = top.pair;
            return true;
        }
        if (!push(trainer, top.pair)) { return false; }
    }
    return true;
}

/* ---- one merge ---- */

/* Join left and right to `token` wherever they stand in a word; the pairs around them change. */
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

bool pairs_merge(struct trainer *trainer, int32_t best, int32_t token) {
    struct pair pair = trainer->pairs[best]; /* a copy: the array may move */
    size_t first_new = trainer->pair_count;
    trainer->pairs[best].words = NULL;
    trainer->pairs[best].used = trainer->pairs[best].room = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < pair.used; i++) {
        ok = merge_in_word(trainer, pair.words[i], pair.left, pair.right, token);
    }
    free(pair.words);
    trainer->pairs[best].count = 0; /* it is nowhere now */
    for (size_t i = first_new; ok && i < trainer->pair_count; i++) {
        ok = push(trainer, (int32_t)i);
    } /* all have `token` */
    return ok;
}

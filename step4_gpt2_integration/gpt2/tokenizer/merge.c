/* merge.c — byte-pair encoding of one piece.
 *
 * Start: a token for each byte. While any two neighbours have a merge, the pair of the lowest rank is joined, of equal ones
 * the leftmost. For words of a few bytes looking through all pairs each time is fastest; a piece can also be a megabyte of
 * one letter, where that would take the square of its length: there, a heap holds the pairs.
 */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

enum { SHORT = 48, NO_MERGE = INT32_MAX };

static bool make_room(struct gpt2_tokenizer *tokenizer, size_t size, struct gpt2_ids *ids, struct gpt2_error *error) {
    if (size < INT32_MAX / 4 && grow(&tokenizer->symbols, &tokenizer->symbol_room, size, sizeof *tokenizer->symbols) &&
        grow(&ids->ids, &ids->room, ids->count + size, sizeof *ids->ids)) {
        return true;
    }
    return gpt2_fail(error, "the tokenizer: out of memory for a word of %zu bytes", size);
}

static void look_up(const struct gpt2_tokenizer *tokenizer, struct symbol *symbol, int32_t right) {
    const struct pair_slot *slot = pair_find(&tokenizer->pairs, pair_key(symbol->id, right));
    symbol->rank = slot->rank >= 0 ? slot->rank : NO_MERGE;
    symbol->result = slot->result;
}

/* ---- short pieces ---- */

bool merge_by_scan(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error) {
    if (!make_room(tokenizer, size, ids, error)) { return false; }
    struct symbol *symbols = tokenizer->symbols;
    size_t count = size;
    for (size_t i = 0; i < size; i++) { symbols[i].id = tokenizer->byte_token[piece[i]]; }
    for (size_t i = 0; i + 1 < size; i++) { look_up(tokenizer, &symbols[i], symbols[i + 1].id); }
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++) {
            if (symbols[i].rank < symbols[best].rank) { best = i; }
        }
        if (symbols[best].rank == NO_MERGE) { break; }
        symbols[best].id = symbols[best].result;
        count--;
        memmove(&symbols[best + 1], &symbols[best + 2], (count - best - 1) * sizeof *symbols);
        if (best + 1 < count) { look_up(tokenizer, &symbols[best], symbols[best + 1].id); }
        if (best > 0) { look_up(tokenizer, &symbols[best - 1], symbols[best].id); }
    }
    for (size_t i = 0; i < count; i++) { ids->ids[ids->count++] = symbols[i].id; }
    return true;
}

/* ---- long pieces ---- */

/* A binary heap: the lowest rank on top, of equal ones the leftmost. */
static bool before(const struct candidate *a, const struct candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(struct candidate *heap, size_t *count, struct candidate candidate) {
    size_t at = (*count)++;
    for (; at > 0 && before(&candidate, &heap[(at - 1) / 2]); at = (at - 1) / 2) { heap[at] = heap[(at - 1) / 2]; }
    heap[at] = candidate;
}

static struct candidate pop(struct candidate *heap, size_t *count) {
    struct candidate top = heap[0], last = heap[--*count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < *count; at = child) {
        if (child + 1 < *count && before(&heap[child + 1], &heap[child])) { child++; }
        if (!before(&heap[child], &last)) { break; }
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* The pair that starts at symbol `at`, if it has a merge, joins the heap. */
static void offer(struct gpt2_tokenizer *tokenizer, size_t *count, int32_t at) {
    struct symbol *symbol = &tokenizer->symbols[at];
    symbol->rank = NO_MERGE;
    if (symbol->next < 0) { return; }
    look_up(tokenizer, symbol, tokenizer->symbols[symbol->next].id);
    if (symbol->rank == NO_MERGE) { return; }
    push(tokenizer->heap, count, (struct candidate){symbol->rank, at, symbol->result});
}

/* Join symbol `at` with the next one, which leaves the list. */
static void join(struct symbol *symbols, int32_t at, int32_t result) {
    struct symbol *left = &symbols[at], *right = &symbols[left->next];
    left->id = result;
    left->next = right->next;
    right->rank = NO_MERGE; /* candidates of it are out of date */
    right->id = -1;
    if (left->next >= 0) { symbols[left->next].previous = at; }
}

bool merge_by_heap(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error) {
    size_t count = 0;
    /* At most one candidate a pair at the start, and two more a join. */
    if (!make_room(tokenizer, size, ids, error)) { return false; }
    if (!grow(&tokenizer->heap, &tokenizer->heap_room, 3 * size, sizeof *tokenizer->heap)) {
        return gpt2_fail(error, "the tokenizer: out of memory for a word of %zu bytes", size);
    }
    struct symbol *symbols = tokenizer->symbols;
    for (size_t i = 0; i < size; i++) {
        symbols[i] = (struct symbol){.id = tokenizer->byte_token[piece[i]],
                                     .previous = (int32_t)i - 1,
                                     .next = i + 1 < size ? (int32_t)i + 1 : -1};
    }
    for (size_t i = 0; i < size; i++) { offer(tokenizer, &count, (int32_t)i); }
    while (count > 0) {
        struct candidate best = pop(tokenizer->heap, &count);
        if (symbols[best.at].rank != best.rank) { continue; } /* one of the two was joined with another since */
        join(symbols, best.at, best.result);
        offer(tokenizer, &count, best.at);
        if (symbols[best.at].previous >= 0) { offer(tokenizer, &count, symbols[best.at].previous); }
    }
    for (int32_t at = size > 0 ? 0 : -1; at >= 0; at = symbols[at].next) { ids->ids[ids->count++] = symbols[at].id; }
    return true;
}

bool merge_piece(struct gpt2_tokenizer *tokenizer, const uint8_t *piece, size_t size, struct gpt2_ids *ids,
                 struct gpt2_error *error) {
    return size <= SHORT ? merge_by_scan(tokenizer, piece, size, ids, error)
                         : merge_by_heap(tokenizer, piece, size, ids, error);
}

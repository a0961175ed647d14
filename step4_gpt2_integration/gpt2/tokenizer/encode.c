/* encode.c — text to ids: added tokens, pre-tokens, then the cache or byte-pair encoding.
 *
 * Byte-pair encoding of a pre-token starts with a token for each byte. While two neighbours have a merge, the pair of the
 * lowest rank is joined, of equal ranks the leftmost. For words of a few bytes, scanning all pairs each time is fastest. A
 * pre-token can also be a megabyte of one letter, where scanning would take quadratic time: there a heap holds the pairs.
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

/* ---- short pre-tokens ---- */

bool merge_by_scan(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error) {
    if (!make_room(tokenizer, size, ids, error)) { return false; }
    struct symbol *symbols = tokenizer->symbols;
    size_t count = size;
    for (size_t i = 0; i < size; i++) { symbols[i].id = tokenizer->byte_token[pretoken[i]]; }
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

/* ---- long pre-tokens ---- */

/* A binary heap: the lowest rank on top, of equal ranks the leftmost. */
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

/* Adds the pair at symbol `at` to the heap, if it has a merge. */
static void offer(struct gpt2_tokenizer *tokenizer, size_t *count, int32_t at) {
    struct symbol *symbol = &tokenizer->symbols[at];
    symbol->rank = NO_MERGE;
    if (symbol->next < 0) { return; }
    look_up(tokenizer, symbol, tokenizer->symbols[symbol->next].id);
    if (symbol->rank == NO_MERGE) { return; }
    push(tokenizer->heap, count, (struct candidate){symbol->rank, at, symbol->result});
}

/* Joins symbol `at` with the next one and removes that from the list. */
static void join(struct symbol *symbols, int32_t at, int32_t result) {
    struct symbol *left = &symbols[at], *right = &symbols[left->next];
    left->id = result;
    left->next = right->next;
    right->rank = NO_MERGE; /* its candidates in the heap are stale */
    right->id = -1;
    if (left->next >= 0) { symbols[left->next].previous = at; }
}

bool merge_by_heap(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                   struct gpt2_error *error) {
    size_t count = 0;
    /* At most one candidate per pair at the start, and two more per join. */
    if (!make_room(tokenizer, size, ids, error)) { return false; }
    if (!grow(&tokenizer->heap, &tokenizer->heap_room, 3 * size, sizeof *tokenizer->heap)) {
        return gpt2_fail(error, "the tokenizer: out of memory for a word of %zu bytes", size);
    }
    struct symbol *symbols = tokenizer->symbols;
    for (size_t i = 0; i < size; i++) {
        symbols[i] = (struct symbol){.id = tokenizer->byte_token[pretoken[i]],
                                     .previous = (int32_t)i - 1,
                                     .next = i + 1 < size ? (int32_t)i + 1 : -1};
    }
    for (size_t i = 0; i < size; i++) { offer(tokenizer, &count, (int32_t)i); }
    while (count > 0) {
        struct candidate best = pop(tokenizer->heap, &count);
        if (symbols[best.at].rank != best.rank) {
            continue;
        } /* stale: one of the two has been joined with another symbol */
        join(symbols, best.at, best.result);
        offer(tokenizer, &count, best.at);
        if (symbols[best.at].previous >= 0) { offer(tokenizer, &count, symbols[best.at].previous); }
    }
    for (int32_t at = size > 0 ? 0 : -1; at >= 0; at = symbols[at].next) { ids->ids[ids->count++] = symbols[at].id; }
    return true;
}

bool merge_pretoken(struct gpt2_tokenizer *tokenizer, const uint8_t *pretoken, size_t size, struct gpt2_ids *ids,
                    struct gpt2_error *error) {
    return size <= SHORT ? merge_by_scan(tokenizer, pretoken, size, ids, error)
                         : merge_by_heap(tokenizer, pretoken, size, ids, error);
}

/* ---- whole texts ---- */

void gpt2_ids_free(struct gpt2_ids *ids) {
    free(ids->ids);
    *ids = (struct gpt2_ids){0};
}

struct encoding {
    struct gpt2_tokenizer *tokenizer;
    struct gpt2_ids *ids;
    bool special; /* are special tokens found? */
};

static void remember(struct cached *entry, const uint8_t *pretoken, size_t size, const int32_t *ids, size_t count) {
    if (count > CACHE_IDS) { return; }
    entry->size = (uint8_t)size;
    entry->count = (uint8_t)count;
    memcpy(entry->bytes, pretoken, size);
    memcpy(entry->ids, ids, count * sizeof *ids);
}

/* Most words of a text are in the cache. */
static bool encode_pretoken(void *context, const uint8_t *pretoken, size_t size, struct gpt2_error *error) {
    const struct encoding *encoding = context;
    struct gpt2_ids *ids = encoding->ids;
    if (size > CACHE_BYTES) { return merge_pretoken(encoding->tokenizer, pretoken, size, ids, error); }
    struct cached *entry = &encoding->tokenizer->cache[hash_bytes(pretoken, size) % CACHE_ENTRIES];
    if (entry->count > 0 && entry->size == size && memcmp(entry->bytes, pretoken, size) == 0) {
        if (!grow(&ids->ids, &ids->room, ids->count + entry->count, sizeof *ids->ids)) {
            return gpt2_fail(error, "the tokenizer: out of memory");
        }
        memcpy(ids->ids + ids->count, entry->ids, entry->count * sizeof *ids->ids);
        ids->count += entry->count;
        return true;
    }
    size_t start = ids->count;
    if (!merge_pretoken(encoding->tokenizer, pretoken, size, ids, error)) { return false; }
    remember(entry, pretoken, size, ids->ids + start, ids->count - start);
    return true;
}

static bool push_id(struct gpt2_ids *ids, int32_t id, struct gpt2_error *error) {
    if (!grow(&ids->ids, &ids->room, ids->count + 1, sizeof *ids->ids)) {
        return gpt2_fail(error, "the tokenizer: out of memory");
    }
    ids->ids[ids->count++] = id;
    return true;
}

/* A text without added tokens. */
static bool encode_ordinary(struct encoding *encoding, const uint8_t *text, size_t size, struct gpt2_error *error) {
    struct gpt2_tokenizer *tokenizer = encoding->tokenizer;
    if (!tokenizer->prefix_space || text[0] == ' ') {
        return each_pretoken(tokenizer->pretokenizer, text, size, encode_pretoken, encoding, error);
    }
    uint8_t *longer = malloc(size + 1);
    if (!longer) { return gpt2_fail(error, "the tokenizer: out of memory"); }
    longer[0] = ' ';
    memcpy(longer + 1, text, size);
    bool ok = each_pretoken(tokenizer->pretokenizer, longer, size + 1, encode_pretoken, encoding, error);
    free(longer);
    return ok;
}

/* Splits the text at the added tokens of this pass; the next pass splits the rest. */
static bool encode_split(struct encoding *encoding, int pass, const uint8_t *text, size_t size,
                         struct gpt2_error *error) {
    const struct added_token *added;
    size_t done = 0, at = 0;
    if (pass == 2) { return size == 0 || encode_ordinary(encoding, text, size, error); }
    while ((added = added_find(encoding->tokenizer, pass, text, size, &at)) != NULL) {
        size_t begin = at, end = at + added->size;
        at = end;
        if (added->special && !encoding->special) { continue; }
        if (added->lstrip) {
            begin = blanks_before(text, begin);
            if (begin < done) { begin = done; } /* the token before has taken it */
        }
        if (added->rstrip) { end += blanks_after(text + end, size - end); }
        if (done < begin && !encode_split(encoding, pass + 1, text + done, begin - done, error)) { return false; }
        if (begin >= end) { continue; } /* all of it has been taken */
        if (!push_id(encoding->ids, added->id, error)) { return false; }
        done = end;
    }
    return encode_split(encoding, pass + 1, text + done, size - done, error);
}

bool gpt2_tokenizer_encode(struct gpt2_tokenizer *tokenizer, const void *text, size_t size, bool special,
                           struct gpt2_ids *ids, struct gpt2_error *error) {
    struct encoding encoding = {tokenizer, ids, special};
    size_t before = ids->count;
    bool ok = size == 0 || encode_split(&encoding, 0, text, size, error);
    if (!ok) { ids->count = before; }
    return ok;
}

/* encode.c — text to ids: specials, then pieces, then the cache or a merge. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

void gpt2_ids_free(struct gpt2_ids *ids) {
    free(ids->ids);
    *ids = (struct gpt2_ids){0};
}

struct encoding {
    struct gpt2_tokenizer *tokenizer;
    struct gpt2_ids *ids;
};

static void remember(struct cached *entry, const uint8_t *piece, size_t size, const int32_t *ids, size_t count) {
    if (count > CACHE_IDS) { return; }
    entry->size = (uint8_t)size;
    entry->count = (uint8_t)count;
    memcpy(entry->bytes, piece, size);
    memcpy(entry->ids, ids, count * sizeof *ids);
}

/* Words come again and again: most of a text is found in the cache. */
static bool encode_piece(void *context, const uint8_t *piece, size_t size, struct gpt2_error *error) {
    const struct encoding *encoding = context;
    struct gpt2_ids *ids = encoding->ids;
    if (size > CACHE_BYTES) { return merge_piece(encoding->tokenizer, piece, size, ids, error); }
    struct cached *entry = &encoding->tokenizer->cache[hash_bytes(piece, size) % CACHE_ENTRIES];
    if (entry->count > 0 && entry->size == size && memcmp(entry->bytes, piece, size) == 0) {
        if (!grow(&ids->ids, &ids->room, ids->count + entry->count, sizeof *ids->ids)) {
            return gpt2_fail(error, "the tokenizer: out of memory");
        }
        memcpy(ids->ids + ids->count, entry->ids, entry->count * sizeof *ids->ids);
        ids->count += entry->count;
        return true;
    }
    size_t start = ids->count;
    if (!merge_piece(encoding->tokenizer, piece, size, ids, error)) { return false; }
    remember(entry, piece, size, ids->ids + start, ids->count - start);
    return true;
}

bool gpt2_tokenizer_encode(struct gpt2_tokenizer *tokenizer, const void *text, size_t size, bool special,
                           struct gpt2_ids *ids, struct gpt2_error *error) {
    struct encoding encoding = {tokenizer, ids};
    const uint8_t *at = text, *end = at ? at + size : at;
    size_t before = ids->count;
    bool ok = true;
    while (ok && at < end) {
        const uint8_t *found = NULL;
        if (special && tokenizer->end_of_text >= 0) {
            found = memmem(at, (size_t)(end - at), END_OF_TEXT, END_OF_TEXT_BYTES);
        }
        const uint8_t *stop = found ? found : end;
        ok = each_piece(tokenizer->pieces, at, (size_t)(stop - at), encode_piece, &encoding, error);
        at = stop;
        if (ok && found) {
            ok = grow(&ids->ids, &ids->room, ids->count + 1, sizeof *ids->ids) ||
                 gpt2_fail(error, "the tokenizer: out of memory");
            if (ok) { ids->ids[ids->count++] = tokenizer->end_of_text; }
            at += END_OF_TEXT_BYTES;
        }
    }
    if (!ok) { ids->count = before; }
    return ok;
}

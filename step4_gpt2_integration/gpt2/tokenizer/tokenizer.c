/* tokenizer.c — a tokenizer's tables: opening, building, access, closing. */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/tokenizer/internal.h"

bool grow(void *array, size_t *room, size_t count, size_t size) {
    if (count <= *room) { return true; }
    size_t more = *room + *room / 2 < count ? count : *room + *room / 2, bytes;
    void *old, *new;
    memcpy(&old, array, sizeof old);
    if (__builtin_mul_overflow(more, size, &bytes) || !(new = realloc(old, bytes ? bytes : 1))) { return false; }
    memcpy(array, &new, sizeof new);
    *room = more;
    return true;
}

uint64_t hash_bytes(const uint8_t *bytes, size_t size) {
    uint64_t hash = size * 0x9e3779b97f4a7c15u, eight = 0;
    for (; size >= sizeof eight; bytes += sizeof eight, size -= sizeof eight) {
        memcpy(&eight, bytes, sizeof eight);
        hash = (hash ^ eight) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    eight = 0;
    memcpy(&eight, bytes, size);
    hash = (hash ^ eight) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 32;
}

/* ---- building ---- */

struct gpt2_tokenizer *tokenizer_new(const char *path, struct gpt2_error *error) {
    struct gpt2_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (tokenizer) {
        tokenizer->path = strdup(path);
        tokenizer->cache = calloc(CACHE_ENTRIES, sizeof *tokenizer->cache);
    }
    if (tokenizer && tokenizer->path && tokenizer->cache) {
        tokenizer->end_of_text = -1;
        tokenizer->pretokenizer = pretokenizer_new(true, error);
        if (tokenizer->pretokenizer) { return tokenizer; }
    } else {
        gpt2_fail(error, "%s: out of memory", path);
    }
    gpt2_tokenizer_close(tokenizer);
    return NULL;
}

void gpt2_tokenizer_close(struct gpt2_tokenizer *tokenizer) {
    if (!tokenizer) { return; }
    pretokenizer_free(tokenizer->pretokenizer);
    free(tokenizer->path);
    free(tokenizer->pool);
    free(tokenizer->tokens);
    free(tokenizer->by_bytes);
    free(tokenizer->merges);
    free(tokenizer->pairs.slots);
    free(tokenizer->cache);
    free(tokenizer->added);
    for (int pass = 0; pass < 2; pass++) { free(tokenizer->finders[pass].sorted); }
    free(tokenizer->symbols);
    free(tokenizer->heap);
    free(tokenizer);
}

bool tokenizer_add_token(struct gpt2_tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t size,
                         struct gpt2_error *error) {
    size_t room = (size_t)tokenizer->token_room;
    if (id < 0 || id >= tokenizer->most || id >= TOKENIZER_MOST_TOKENS) {
        return gpt2_fail(error, "%s: a token has the id %lld; the ids of %d tokens are 0 to %d", tokenizer->path,
                         (long long)id, tokenizer->most, tokenizer->most - 1);
    }
    if (size == 0 || size > TOKENIZER_LONGEST_TOKEN) {
        return gpt2_fail(error, "%s: token %lld has %zu bytes", tokenizer->path, (long long)id, size);
    }
    if (!grow(&tokenizer->tokens, &room, (size_t)id + 1, sizeof *tokenizer->tokens) ||
        !grow(&tokenizer->pool, &tokenizer->pool_room, tokenizer->pool_size + size, 1)) {
        return gpt2_fail(error, "%s: out of memory", tokenizer->path);
    }
    memset(tokenizer->tokens + tokenizer->token_room, 0,
           (room - (size_t)tokenizer->token_room) * sizeof *tokenizer->tokens);
    tokenizer->token_room = (int)room;
    struct token *token = &tokenizer->tokens[id];
    if (token->size > 0) { return gpt2_fail(error, "%s: two tokens have the id %lld", tokenizer->path, (long long)id); }
    *token = (struct token){.offset = tokenizer->pool_size, .size = (uint32_t)size};
    memcpy(tokenizer->pool + tokenizer->pool_size, bytes, size);
    tokenizer->pool_size += size;
    if (id >= tokenizer->count) { tokenizer->count = (int)id + 1; }
    return true;
}

/* The slot of these bytes in the index, or the free one for them. */
static int32_t *index_slot(const struct gpt2_tokenizer *tokenizer, const uint8_t *bytes, size_t size) {
    size_t at = (size_t)hash_bytes(bytes, size) & tokenizer->by_bytes_mask;
    for (;; at = (at + 1) & tokenizer->by_bytes_mask) {
        int32_t id = tokenizer->by_bytes[at];
        if (id < 0) { break; }
        const struct token *token = &tokenizer->tokens[id];
        if (token->size == size && memcmp(tokenizer->pool + token->offset, bytes, size) == 0) { break; }
    }
    return &tokenizer->by_bytes[at];
}

static size_t power_of_two(size_t least) {
    size_t power = 16;
    while (power < least) { power *= 2; }
    return power;
}

bool tokenizer_add_to_index(struct gpt2_tokenizer *tokenizer, int id, struct gpt2_error *error) {
    const struct token *token = &tokenizer->tokens[id];
    int32_t *slot = index_slot(tokenizer, tokenizer->pool + token->offset, token->size);
    if (*slot >= 0) { return gpt2_fail(error, "%s: tokens %d and %d are the same", tokenizer->path, *slot, id); }
    *slot = id;
    return true;
}

bool tokenizer_index(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    size_t slots = power_of_two(2 * (size_t)tokenizer->most + 1);
    tokenizer->by_bytes = malloc(slots * sizeof *tokenizer->by_bytes);
    if (!tokenizer->by_bytes) { return gpt2_fail(error, "%s: out of memory", tokenizer->path); }
    memset(tokenizer->by_bytes, 0xff, slots * sizeof *tokenizer->by_bytes);
    tokenizer->by_bytes_mask = slots - 1;
    for (int id = 0; id < tokenizer->count; id++) {
        if (tokenizer->tokens[id].size == 0) {
            return gpt2_fail(error, "%s: no token has the id %d, though one has %d", tokenizer->path, id,
                             tokenizer->count - 1);
        }
        if (!tokenizer_add_to_index(tokenizer, id, error)) { return false; }
    }
    for (int byte = 0; byte < 256; byte++) {
        uint8_t one = (uint8_t)byte;
        tokenizer->byte_token[byte] = gpt2_tokenizer_find(tokenizer, &one, 1);
        if (tokenizer->byte_token[byte] < 0) {
            return gpt2_fail(error, "%s: the byte 0x%02x has no token", tokenizer->path, byte);
        }
    }
    tokenizer->end_of_text = gpt2_tokenizer_find(tokenizer, END_OF_TEXT, END_OF_TEXT_BYTES);
    tokenizer->learned = tokenizer->count;
    return true;
}

/* Grows the table of pairs to at least twice the number of merges, with one more. */
static bool grow_pairs(struct gpt2_tokenizer *tokenizer) {
    size_t slots = power_of_two(2 * (size_t)tokenizer->merge_count + 2);
    if (tokenizer->pairs.slots && slots <= tokenizer->pairs.mask + 1) { return true; }
    struct pair_table table = {.slots = malloc(slots * sizeof *table.slots), .mask = slots - 1};
    if (!table.slots) { return false; }
    for (size_t i = 0; i < slots; i++) { table.slots[i].rank = -1; }
    for (int rank = 0; rank < tokenizer->merge_count; rank++) {
        const struct merge *merge = &tokenizer->merges[rank];
        uint64_t key = pair_key(merge->left, merge->right);
        *pair_find(&table, key) = (struct pair_slot){.key = key, .rank = rank, .result = merge->result};
    }
    free(tokenizer->pairs.slots);
    tokenizer->pairs = table;
    return true;
}

bool tokenizer_add_merge(struct gpt2_tokenizer *tokenizer, int left, int right, const char *where,
                         struct gpt2_error *error) {
    const struct token *a = &tokenizer->tokens[left], *b = &tokenizer->tokens[right];
    uint8_t *bytes = malloc((size_t)a->size + b->size);
    if (!bytes) { return gpt2_fail(error, "%s: out of memory", tokenizer->path); }
    memcpy(bytes, tokenizer->pool + a->offset, a->size);
    memcpy(bytes + a->size, tokenizer->pool + b->offset, b->size);
    int result = gpt2_tokenizer_find(tokenizer, bytes, (size_t)a->size + b->size);
    free(bytes);
    if (result < 0) { return gpt2_fail(error, "%s: the result of the merge is not a token", where); }
    size_t room = (size_t)tokenizer->merge_room;
    if (tokenizer->merge_count == TOKENIZER_MOST_TOKENS ||
        !grow(&tokenizer->merges, &room, (size_t)tokenizer->merge_count + 1, sizeof *tokenizer->merges) ||
        !grow_pairs(tokenizer)) {
        return gpt2_fail(error, "%s: out of memory", tokenizer->path);
    }
    tokenizer->merge_room = (int)room;
    uint64_t key = pair_key(left, right);
    struct pair_slot *slot = pair_find(&tokenizer->pairs, key);
    if (slot->rank >= 0) { return gpt2_fail(error, "%s: the same pair as in merge %d", where, slot->rank + 1); }
    *slot = (struct pair_slot){.key = key, .rank = tokenizer->merge_count, .result = result};
    tokenizer->merges[tokenizer->merge_count++] = (struct merge){left, right, result};
    return true;
}

bool tokenizer_finish(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    return grow_pairs(tokenizer) || gpt2_fail(error, "%s: out of memory", tokenizer->path);
}

/* ---- opening ---- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

struct gpt2_tokenizer *gpt2_tokenizer_open(const char *path, struct gpt2_error *error) {
    struct stat status;
    struct gpt2_tokenizer *tokenizer = tokenizer_new(path, error);
    if (!tokenizer) { return NULL; }
    bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    if (!folder && (ends_with(path, ".json") || ends_with(path, ".txt"))) {
        gpt2_fail(error, "%s: a part of a tokenizer: name the folder that it is in", path);
        gpt2_tokenizer_close(tokenizer);
        return NULL;
    }
    bool ok = folder ? tokenizer_read_folder(tokenizer, path, error)
                     : tokenizer_read_llmc(tokenizer, path, error) && tokenizer_add_end_of_text(tokenizer, error);
    if (ok && tokenizer_finish(tokenizer, error)) { return tokenizer; }
    gpt2_tokenizer_close(tokenizer);
    return NULL;
}

/* ---- access ---- */

int gpt2_tokenizer_size(const struct gpt2_tokenizer *tokenizer) {
    return tokenizer->count;
}

int gpt2_tokenizer_end_of_text(const struct gpt2_tokenizer *tokenizer) {
    return tokenizer->end_of_text;
}

bool gpt2_tokenizer_is_compiled(const struct gpt2_tokenizer *tokenizer) {
    return pretokenizer_compiled(tokenizer->pretokenizer);
}

const uint8_t *gpt2_tokenizer_token(const struct gpt2_tokenizer *tokenizer, int id, size_t *size) {
    if (id < 0 || id >= tokenizer->count) { return NULL; }
    *size = tokenizer->tokens[id].size;
    return tokenizer->pool + tokenizer->tokens[id].offset;
}

int gpt2_tokenizer_find(const struct gpt2_tokenizer *tokenizer, const void *bytes, size_t size) {
    return *index_slot(tokenizer, bytes, size);
}

bool gpt2_tokenizer_fits(const struct gpt2_tokenizer *tokenizer, int vocabulary, const char *path,
                         struct gpt2_error *error) {
    int least = tokenizer->learned, most = (tokenizer->count + 127) / 128 * 128;
    if (least <= vocabulary && vocabulary <= most) { return true; }
    return gpt2_fail(error, "%s: its vocabulary is %d; the tokenizer %s has %d tokens", path, vocabulary,
                     tokenizer->path, vocabulary < least ? least : tokenizer->count);
}

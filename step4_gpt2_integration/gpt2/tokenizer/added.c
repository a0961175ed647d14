/* added.c — added tokens: texts that are one token wherever they occur, found before the regular expression splits the rest.
 *
 * As Hugging Face's tokenizers does it (AddedVocabulary): the text is searched for the tokens that are not normalized, the pieces
 * between these for the others. Of matches that overlap the leftmost counts, of these the longest.
 */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

static const uint8_t *content(const struct gpt2_tokenizer *tokenizer, const struct added_token *added) {
    return tokenizer->pool + added->offset;
}

static struct added_token *find_added(const struct gpt2_tokenizer *tokenizer, const char *text, size_t size) {
    for (int i = 0; i < tokenizer->added_count; i++) {
        struct added_token *added = &tokenizer->added[i];
        if (added->size == size && memcmp(content(tokenizer, added), text, size) == 0) { return added; }
    }
    return NULL;
}

/* ---- building ---- */

/* The id of the token of the vocabulary that is spelled so; -1: there is none. */
static int find_spelled(const struct gpt2_tokenizer *tokenizer, const char *text, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) { return -2; }
    int64_t length = bytes_of_spelling(text, size, bytes);
    int id = length > 0 ? gpt2_tokenizer_find(tokenizer, bytes, (size_t)length) : -1;
    free(bytes);
    return id;
}

bool tokenizer_add_added(struct gpt2_tokenizer *tokenizer, const char *text, struct added_token flags,
                         struct gpt2_error *error) {
    size_t size = strlen(text), room = (size_t)tokenizer->added_room;
    struct added_token *added = find_added(tokenizer, text, size);
    if (size == 0) { return true; }
    if (size > TOKENIZER_LONGEST_TOKEN) {
        return gpt2_fail(error, "%s: an added token of %zu bytes", tokenizer->path, size);
    }
    if (!added) {
        int id = find_spelled(tokenizer, text, size);
        if (id == -2 || !grow(&tokenizer->added, &room, (size_t)tokenizer->added_count + 1, sizeof *added)) {
            return gpt2_fail(error, "%s: out of memory", tokenizer->path);
        }
        tokenizer->added_room = (int)room;
        size_t offset = tokenizer->pool_size;
        if (id < 0) { /* a new one, after all others */
            id = tokenizer->count;
            if (tokenizer->most <= id) { tokenizer->most = id + 1; }
            if (!tokenizer_add_token(tokenizer, id, (const uint8_t *)text, size, error)) { return false; }
        } else {
            if (!grow(&tokenizer->pool, &tokenizer->pool_room, offset + size, 1)) {
                return gpt2_fail(error, "%s: out of memory", tokenizer->path);
            }
            memcpy(tokenizer->pool + offset, text, size);
            tokenizer->pool_size += size;
        }
        added = &tokenizer->added[tokenizer->added_count++];
        *added = (struct added_token){.id = id, .offset = offset, .size = (uint32_t)size};
    }
    added->special = flags.special, added->normalized = flags.normalized;
    added->lstrip = flags.lstrip, added->rstrip = flags.rstrip;
    return true;
}

static int by_content(const void *a, const void *b, void *context) {
    const struct gpt2_tokenizer *tokenizer = context;
    const struct added_token *x = &tokenizer->added[*(const int *)a], *y = &tokenizer->added[*(const int *)b];
    uint32_t size = x->size < y->size ? x->size : y->size;
    int order = memcmp(content(tokenizer, x), content(tokenizer, y), size);
    return order != 0 ? order : x->size < y->size ? -1 : x->size > y->size;
}

bool tokenizer_finish_added(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    const struct added_token *end = find_added(tokenizer, END_OF_TEXT, END_OF_TEXT_BYTES);
    tokenizer->end_of_text = end ? end->id : -1;
    for (int pass = 0; pass < 2; pass++) {
        struct added_finder *finder = &tokenizer->finders[pass];
        free(finder->sorted);
        *finder = (struct added_finder){.sorted = malloc((size_t)tokenizer->added_count * sizeof(int) + 1)};
        if (!finder->sorted) { return gpt2_fail(error, "%s: out of memory", tokenizer->path); }
        for (int i = 0; i < tokenizer->added_count; i++) {
            const struct added_token *added = &tokenizer->added[i];
            if (added->normalized != (pass == 1)) { continue; }
            finder->sorted[finder->count++] = i;
            finder->begins[content(tokenizer, added)[0]] = true;
        }
        qsort_r(finder->sorted, (size_t)finder->count, sizeof(int), by_content, tokenizer);
    }
    return true;
}

bool tokenizer_add_end_of_text(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    const struct added_token flags = {.special = true};
    return (tokenizer->end_of_text < 0 || tokenizer_add_added(tokenizer, END_OF_TEXT, flags, error)) &&
           tokenizer_finish_added(tokenizer, error);
}

bool tokenizer_is_plain(const struct gpt2_tokenizer *tokenizer) {
    const struct added_token *only = tokenizer->added;
    return !tokenizer->prefix_space && tokenizer->added_count <= 1 &&
           (tokenizer->added_count == 0 || (only->id == tokenizer->end_of_text && only->id < tokenizer->learned &&
                                            only->special && !only->normalized && !only->lstrip && !only->rstrip));
}

/* ---- searching ---- */

/* The first of sorted[low..high) whose byte at `depth` is at least `byte`; all of them have more than `depth` bytes. */
static int lower_bound(const struct gpt2_tokenizer *tokenizer, const int *sorted, int low, int high, size_t depth,
                       int byte) {
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (content(tokenizer, &tokenizer->added[sorted[middle]])[depth] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The longest token at the start of the text; NULL: there is none. */
static const struct added_token *longest(const struct gpt2_tokenizer *tokenizer, const struct added_finder *finder,
                                         const uint8_t *text, size_t size) {
    const struct added_token *best = NULL;
    int low = 0, high = finder->count;
    for (size_t depth = 0; low < high; depth++) {
        const struct added_token *first = &tokenizer->added[finder->sorted[low]];
        if (first->size == depth) { /* the shortest of a range is its first */
            best = first;
            low++;
        }
        if (depth == size) { break; }
        low = lower_bound(tokenizer, finder->sorted, low, high, depth, text[depth]);
        high = lower_bound(tokenizer, finder->sorted, low, high, depth, text[depth] + 1);
    }
    return best;
}

const struct added_token *added_find(const struct gpt2_tokenizer *tokenizer, int pass, const uint8_t *text, size_t size,
                                     size_t *at) {
    const struct added_finder *finder = &tokenizer->finders[pass];
    if (finder->count == 0) { return NULL; }
    for (; *at < size; ++*at) {
        if (!finder->begins[text[*at]]) { continue; }
        const struct added_token *found = longest(tokenizer, finder, text + *at, size - *at);
        if (found) { return found; }
    }
    return NULL;
}

/* ---- white space beside a token ---- */

/* Unicode's White_Space. */
static bool is_blank(const uint8_t *bytes, int length) {
    uint32_t c = length == 1   ? bytes[0]
                 : length == 2 ? (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu)
                 : length == 3 ? (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu)
                               : 0;
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t blanks_after(const uint8_t *text, size_t size) {
    size_t at = 0;
    while (at < size) {
        int length = utf8_sequence(text + at, size - at);
        if (length <= 0 || !is_blank(text + at, length)) { break; }
        at += (size_t)length;
    }
    return at;
}

size_t blanks_before(const uint8_t *text, size_t size) {
    size_t end = size;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && end - start < 4 && (text[start] & 0xc0) == 0x80) { start--; }
        int length = utf8_sequence(text + start, end - start);
        if (length != (int)(end - start) || !is_blank(text + start, length)) { break; }
        end = start;
    }
    return end;
}

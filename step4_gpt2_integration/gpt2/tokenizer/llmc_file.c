/* llmc_file.c — the tokenizer file of llm.c: tokens in order, without merges.
 *
 * A u8 length and the bytes of each token. Tokens are numbered in the order in which they were learned, so the order of the
 * merges is that of the ids. The two parts of a token result from encoding its bytes with all earlier merges.
 */
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/llmc.h"
#include "gpt2/tokenizer/internal.h"

enum { MAGIC = 20240328, VERSION = 2, MOST_LENGTH = 255 };

static const char what[] = "a tokenizer of llm.c";

/* Derives the merge of token `id`. */
static bool derive_merge(struct gpt2_tokenizer *tokenizer, int id, struct gpt2_ids *parts, struct gpt2_error *error) {
    size_t size;
    const uint8_t *bytes = gpt2_tokenizer_token(tokenizer, id, &size);
    char where[300];
    snprintf(where, sizeof where, "%.250s, token %d", tokenizer->path, id);
    parts->count = 0;
    if (!merge_pretoken(tokenizer, bytes, size, parts, error)) { return false; }
    if (parts->count == 2) { return tokenizer_add_merge(tokenizer, parts->ids[0], parts->ids[1], where, error); }
    return gpt2_fail(error, "%s: not made of two earlier tokens, so its merge cannot be derived", where);
}

static bool derive_merges(struct gpt2_tokenizer *tokenizer, struct gpt2_error *error) {
    struct gpt2_ids parts = {0};
    bool ok = tokenizer_finish(tokenizer, error); /* allocates the tables, empty */
    for (int id = 0; ok && id < tokenizer->count; id++) {
        if (tokenizer->tokens[id].size > 1 && id != tokenizer->end_of_text) {
            ok = derive_merge(tokenizer, id, &parts, error);
        }
    }
    gpt2_ids_free(&parts);
    return ok;
}

static bool read_file(struct gpt2_tokenizer *tokenizer, const struct gpt2_file *file, struct gpt2_error *error) {
    if (!llmc_check_header(file, MAGIC, VERSION, what, error)) { return false; }
    int32_t count = llmc_header(file, 2), end_of_text = llmc_header(file, 3);
    size_t at = LLMC_HEADER_BYTES;
    if (count < 0 || (size_t)count > (file->size - LLMC_HEADER_BYTES) / 2) {
        return gpt2_fail(error, "%s: %zu bytes are too few for %d tokens", file->path, file->size, count);
    }
    tokenizer->most = count;
    for (int32_t id = 0; id < count; id++) {
        if (at == file->size || file->size - at - 1 < file->bytes[at]) {
            return gpt2_fail(error, "%s: ends at token %d of %d", file->path, id, count);
        }
        if (!tokenizer_add_token(tokenizer, id, file->bytes + at + 1, file->bytes[at], error)) { return false; }
        at += 1 + (size_t)file->bytes[at];
    }
    if (at != file->size) { return gpt2_fail(error, "%s: more follows after its %d tokens", file->path, count); }
    if (!tokenizer_index(tokenizer, error)) { return false; }
    if (tokenizer->end_of_text != end_of_text) {
        return gpt2_fail(error, "%s: its header says that token %d is " END_OF_TEXT ", but %s", file->path, end_of_text,
                         tokenizer->end_of_text < 0 ? "none is" : "another one is");
    }
    return derive_merges(tokenizer, error);
}

bool tokenizer_read_llmc(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    struct gpt2_file file;
    if (!gpt2_file_open(&file, path, error)) { return false; }
    bool ok = read_file(tokenizer, &file, error);
    gpt2_file_close(&file);
    return ok;
}

/* ---- writing ---- */

/* Could the file be read again? Merge `i` must give the i-th token that is neither a byte nor <|endoftext|>. */
static bool check_order(const struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    int rank = 0;
    if (!tokenizer_is_plain(tokenizer)) {
        return gpt2_fail(error, "%s: llm.c's format has no added tokens but " END_OF_TEXT " and no add_prefix_space",
                         path);
    }
    if (tokenizer->end_of_text < 0) { return gpt2_fail(error, "%s: there is no " END_OF_TEXT " to put into it", path); }
    for (int id = 0; id < tokenizer->count; id++) {
        size_t size = tokenizer->tokens[id].size;
        if (size > MOST_LENGTH) {
            return gpt2_fail(error, "%s: token %d has %zu bytes, more than the format's 255", path, id, size);
        }
        if (size == 1 || id == tokenizer->end_of_text) { continue; }
        if (rank >= tokenizer->merge_count || tokenizer->merges[rank++].result != id) {
            return gpt2_fail(error, "%s: the order of the tokens is not that of the merges, which it does not store",
                             path);
        }
    }
    return rank == tokenizer->merge_count ||
           gpt2_fail(error, "%s: there are more merges than tokens, which it does not store", path);
}

bool gpt2_tokenizer_write_llmc(const struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    struct gpt2_output output = {0};
    const int32_t header[] = {MAGIC, VERSION, tokenizer->count, tokenizer->end_of_text};
    bool ok = check_order(tokenizer, path, error) && gpt2_output_begin(&output, path, error) &&
              llmc_write_header(&output, header, 4, error);
    for (int id = 0; ok && id < tokenizer->count; id++) {
        const struct token *token = &tokenizer->tokens[id];
        uint8_t length = (uint8_t)token->size;
        ok = gpt2_output_write(&output, &length, 1, error) &&
             gpt2_output_write(&output, tokenizer->pool + token->offset, token->size, error);
    }
    ok = ok && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return ok;
}

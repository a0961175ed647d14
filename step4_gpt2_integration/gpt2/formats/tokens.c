#include "tokens.h"

#include <string.h>

#include "gpt2/formats/llmc.h"

enum { MAGIC = 20240520, VERSION = 1, CHUNK = 4096 };

static const char what[] = "a token file of llm.c";

bool gpt2_tokens_or_text(const struct gpt2_file *file, bool *tokens, struct gpt2_error *error) {
    const int32_t magic = MAGIC;
    *tokens = file->size >= sizeof magic && memcmp(file->bytes, &magic, sizeof magic) == 0;
    if (*tokens || file->size == 0 || memchr(file->bytes, 0, file->size) == NULL) { return true; }
    return gpt2_fail(error,
                     "%s: neither a text, for it has zero bytes, nor tokens as llm.c stores them, which begin with %d",
                     file->path, MAGIC);
}

static bool read_tokens(struct gpt2_tokens *tokens, int vocabulary, struct gpt2_error *error) {
    const struct gpt2_file *file = &tokens->file;
    if (!llmc_check_header(file, MAGIC, VERSION, what, error)) { return false; }
    tokens->count = llmc_header(file, 2);
    tokens->ids = (const uint16_t *)(file->bytes + LLMC_HEADER_BYTES);
    if (tokens->count < 0 || file->size - LLMC_HEADER_BYTES != (uint64_t)tokens->count * sizeof *tokens->ids) {
        return gpt2_fail(error, "%s: its header says %lld tokens of 2 bytes, it has %zu bytes of them", file->path,
                         (long long)tokens->count, file->size - LLMC_HEADER_BYTES);
    }
    for (int64_t i = 0; i < tokens->count; i++) {
        if (tokens->ids[i] >= vocabulary) {
            return gpt2_fail(error, "%s: token %lld is %d, outside the vocabulary of %d", file->path, (long long)i,
                             tokens->ids[i], vocabulary);
        }
    }
    return true;
}

bool gpt2_tokens_open(struct gpt2_tokens *tokens, const char *path, int vocabulary, struct gpt2_error *error) {
    *tokens = (struct gpt2_tokens){0};
    if (gpt2_file_open(&tokens->file, path, error) && read_tokens(tokens, vocabulary, error)) { return true; }
    gpt2_tokens_close(tokens);
    return false;
}

void gpt2_tokens_close(struct gpt2_tokens *tokens) {
    gpt2_file_close(&tokens->file);
    *tokens = (struct gpt2_tokens){0};
}

int64_t gpt2_tokens_batches(const struct gpt2_tokens *tokens, int B, int T, int processes) {
    int64_t stride = (int64_t)B * T * processes;
    return stride > 0 && tokens->count > 0 ? (tokens->count - 1) / stride : 0;
}

const uint16_t *gpt2_tokens_batch(const struct gpt2_tokens *tokens, int64_t index, int B, int T, int rank,
                                  int processes) {
    if (index < 0 || index >= gpt2_tokens_batches(tokens, B, T, processes)) { return NULL; }
    return tokens->ids + (index * processes + rank) * B * T;
}

bool gpt2_tokens_write(const char *path, const int32_t *ids, int64_t count, struct gpt2_error *error) {
    struct gpt2_output output = {0};
    if (count < 0 || count > INT32_MAX) {
        return gpt2_fail(error, "%s: %lld tokens are too many", path, (long long)count);
    }
    const int32_t header[] = {MAGIC, VERSION, (int32_t)count};
    bool ok = gpt2_output_begin(&output, path, error) && llmc_write_header(&output, header, 3, error);
    for (int64_t done = 0; ok && done < count;) {
        uint16_t chunk[CHUNK];
        int now = count - done < CHUNK ? (int)(count - done) : CHUNK;
        for (int i = 0; ok && i < now; i++) {
            chunk[i] = (uint16_t)ids[done + i];
            ok = chunk[i] == ids[done + i] ||
                 gpt2_fail(error, "%s: token %d does not fit into 16 bits", path, ids[done + i]);
        }
        ok = ok && gpt2_output_write(&output, chunk, (size_t)now * sizeof *chunk, error);
        done += now;
    }
    ok = ok && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return ok;
}

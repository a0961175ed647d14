/* decode.c — ids to bytes, all at once or token by token. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

void gpt2_text_free(struct gpt2_text *text) {
    free(text->bytes);
    *text = (struct gpt2_text){0};
}

static bool append(struct gpt2_text *text, const void *bytes, size_t size, struct gpt2_error *error) {
    if (!grow(&text->bytes, &text->room, text->size + size + 1, 1)) {
        return gpt2_fail(error, "the tokenizer: out of memory");
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return true;
}

static const uint8_t *token_of(const struct gpt2_tokenizer *tokenizer, int id, size_t *size, struct gpt2_error *error) {
    const uint8_t *token = gpt2_tokenizer_token(tokenizer, id, size);
    if (!token) { gpt2_fail(error, "%s: no token has the id %d; there are %d", tokenizer->path, id, tokenizer->count); }
    return token;
}

bool gpt2_tokenizer_decode(const struct gpt2_tokenizer *tokenizer, const int32_t *ids, size_t count,
                           struct gpt2_text *text, struct gpt2_error *error) {
    size_t before = text->size;
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const uint8_t *token = token_of(tokenizer, ids[i], &size, error);
        if (!token || !append(text, token, size, error)) {
            text->size = before;
            if (text->bytes) { text->bytes[before] = '\0'; }
            return false;
        }
    }
    return true;
}

/* ---- streaming ---- */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Adds one byte: the pending bytes are then a complete character, an incomplete one, or invalid. */
static bool push_byte(struct gpt2_stream *stream, uint8_t byte, struct gpt2_text *text, struct gpt2_error *error) {
    stream->pending[stream->count++] = byte;
    int length = utf8_sequence(stream->pending, (size_t)stream->count);
    if (length == 0) { return true; }
    if (length > 0) {
        stream->count = 0;
        return append(text, stream->pending, (size_t)length, error);
    }
    int rest = stream->count + length; /* -length bytes are invalid; at most the newest byte is left */
    stream->count = 0;
    return append(text, replacement, strlen(replacement), error) && (rest == 0 || push_byte(stream, byte, text, error));
}

bool gpt2_stream_push(struct gpt2_stream *stream, const struct gpt2_tokenizer *tokenizer, int id,
                      struct gpt2_text *text, struct gpt2_error *error) {
    size_t size;
    const uint8_t *token = token_of(tokenizer, id, &size, error);
    return token && gpt2_stream_bytes(stream, token, size, text, error);
}

bool gpt2_stream_bytes(struct gpt2_stream *stream, const void *bytes, size_t size, struct gpt2_text *text,
                       struct gpt2_error *error) {
    const uint8_t *next = bytes;
    for (size_t i = 0; i < size; i++) {
        if (!push_byte(stream, next[i], text, error)) { return false; }
    }
    return true;
}

bool gpt2_stream_end(struct gpt2_stream *stream, struct gpt2_text *text, struct gpt2_error *error) {
    bool cut = stream->count > 0;
    stream->count = 0;
    return !cut || append(text, replacement, strlen(replacement), error);
}

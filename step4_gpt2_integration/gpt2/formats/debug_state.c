#include <string.h>

#include "gpt2/formats/llmc.h"

enum { MAGIC = 20240327, VERSION = 2, MOST_BATCH = 1 << 20 };

static const char what[] = "a debug state of llm.c";

static bool check_tokens(const int32_t *tokens, int64_t count, const struct gpt2_config *config, const char *path,
                         struct gpt2_error *error) {
    for (int64_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= config->vocabulary) {
            return gpt2_fail(error, "%s: token %d is outside the vocabulary of %d", path, tokens[i],
                             config->vocabulary);
        }
    }
    return true;
}

static bool read_state(struct gpt2_debug_state *state, const struct gpt2_config *config, struct gpt2_error *error) {
    const struct gpt2_file *file = &state->gradient.file;
    if (!llmc_check_header(file, MAGIC, VERSION, what, error)) { return false; }
    state->B = llmc_header(file, 2);
    state->T = llmc_header(file, 3);
    if (state->B < 1 || state->B > MOST_BATCH || state->T < 1 || state->T > config->max_tokens) {
        return gpt2_fail(error, "%s: B = %d, T = %d are no batch for a context of %d", file->path, state->B, state->T,
                         config->max_tokens);
    }
    uint64_t tokens = (uint64_t)state->B * (uint64_t)state->T, logits;
    uint64_t gradients = (uint64_t)gpt2_config_weights(config, config->padded_vocabulary);
    if (__builtin_mul_overflow(tokens, (uint64_t)config->vocabulary, &logits) || logits > UINT64_MAX / 16 ||
        file->size != LLMC_HEADER_BYTES + 4 * (2 * tokens + logits + 1 + gradients)) {
        return gpt2_fail(error, "%s: its %zu bytes are not what B = %d, T = %d and the sizes of the model give",
                         file->path, file->size, state->B, state->T);
    }
    const uint8_t *at = file->bytes + LLMC_HEADER_BYTES; /* all of it is aligned: the mapping and the header are */
    state->x = (const int32_t *)at;
    state->y = state->x + tokens;
    state->logits = (const float *)(at + 2 * tokens * sizeof *state->x);
    memcpy(&state->loss, state->logits + logits, sizeof state->loss);
    return check_tokens(state->x, (int64_t)(2 * tokens), config, file->path, error) &&
           llmc_place_views(&state->gradient, (const uint8_t *)(state->logits + logits + 1), GPT2_F32, error);
}

bool gpt2_debug_state_open(struct gpt2_debug_state *state, const char *path, const struct gpt2_config *config,
                           struct gpt2_error *error) {
    *state = (struct gpt2_debug_state){.gradient.config = *config};
    if (!gpt2_config_check(config, path, error)) { return false; }
    if (gpt2_file_open(&state->gradient.file, path, error) && read_state(state, config, error)) { return true; }
    gpt2_debug_state_close(state);
    return false;
}

void gpt2_debug_state_close(struct gpt2_debug_state *state) {
    gpt2_weights_close(&state->gradient);
    *state = (struct gpt2_debug_state){0};
}

bool gpt2_debug_state_write(const char *path, const struct gpt2_debug_state *state, const struct gpt2_source *gradient,
                            struct gpt2_error *error) {
    const struct gpt2_config *config = &gradient->config;
    struct gpt2_output output = {0};
    if (!gpt2_config_check(config, path, error)) { return false; }
    const int32_t header[] = {MAGIC, VERSION, state->B, state->T};
    size_t tokens = (size_t)state->B * (size_t)state->T;
    bool ok = gpt2_output_begin(&output, path, error) && llmc_write_header(&output, header, 4, error) &&
              gpt2_output_write(&output, state->x, tokens * sizeof *state->x, error) &&
              gpt2_output_write(&output, state->y, tokens * sizeof *state->y, error) &&
              gpt2_output_write(&output, state->logits, tokens * (size_t)config->vocabulary * sizeof(float), error) &&
              gpt2_output_write(&output, &state->loss, sizeof state->loss, error) &&
              llmc_write_tensors(&output, gradient, GPT2_F32, error) && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return ok;
}

/* llmc.c — checkpoints and debug states of llm.c, read and written (llmc.h). */
#include "llmc.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 20240326, VERSION_F32 = 3, VERSION_BF16 = 5, CHUNK = 1 << 16 };

static const float epsilon = 1e-5f;
static const char what[] = "a checkpoint of llm.c";

int32_t llmc_header(const struct gpt2_file *file, int index) {
    int32_t value;
    memcpy(&value, file->bytes + (size_t)index * sizeof value, sizeof value);
    return value;
}

bool llmc_check_header(const struct gpt2_file *file, int32_t magic, int32_t version, const char *kind,
                       struct gpt2_error *error) {
    if (file->size < LLMC_HEADER_BYTES) {
        return gpt2_fail(error, "%s: %zu bytes, shorter than the header of %s", file->path, file->size, kind);
    }
    if (llmc_header(file, 0) != magic) {
        return gpt2_fail(error, "%s: not %s: its magic number is %d, not %d", file->path, kind, llmc_header(file, 0),
                         magic);
    }
    if (llmc_header(file, 1) == version) { return true; }
    return gpt2_fail(error, "%s: %s of version %d, which is not supported (%d is)", file->path, kind,
                     llmc_header(file, 1), version);
}

bool llmc_write_header(struct gpt2_output *output, const int32_t *numbers, int count, struct gpt2_error *error) {
    int32_t header[LLMC_HEADER_INTS] = {0};
    memcpy(header, numbers, (size_t)count * sizeof *numbers);
    return gpt2_output_write(output, header, sizeof header, error);
}

/* ---- reading ---- */

bool llmc_place_views(struct gpt2_weights *weights, const uint8_t *bytes, enum gpt2_type type,
                      struct gpt2_error *error) {
    const struct gpt2_config *config = &weights->config;
    if (!gpt2_weights_allocate(weights, error)) { return false; }
    for (int i = 0; i < GPT2_TENSORS; i++) {
        enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        struct gpt2_view view = {.type = type,
                                 .layout = GPT2_OUT_IN,
                                 .rows = gpt2_tensor_rows(config, tensor),
                                 .columns = gpt2_tensor_columns(config, tensor)};
        int64_t stored = tensor == GPT2_WTE ? config->padded_vocabulary : view.rows;
        for (int layer = 0; layer < gpt2_tensor_layers(config, tensor); layer++) {
            view.bytes = bytes;
            *gpt2_weights_view(weights, tensor, layer) = view;
            bytes += (size_t)(stored * view.columns) * gpt2_type_bytes(type);
        }
    }
    return true;
}

static bool read_config(struct gpt2_weights *weights, enum gpt2_type *type, struct gpt2_error *error) {
    const struct gpt2_file *file = &weights->file;
    int32_t version = file->size >= LLMC_HEADER_BYTES ? llmc_header(file, 1) : 0;
    bool bf16 = version == VERSION_BF16;
    if (version == 1 && llmc_header(file, 0) == MAGIC) {
        return gpt2_fail(error, "%s: version 1, without a padded vocabulary, is not supported: export it as version 3",
                         file->path);
    }
    if (!llmc_check_header(file, MAGIC, bf16 ? VERSION_BF16 : VERSION_F32, what, error)) { return false; }
    *type = bf16 ? GPT2_BF16 : GPT2_F32;
    weights->config = (struct gpt2_config){.max_tokens = llmc_header(file, 2),
                                           .vocabulary = llmc_header(file, 3),
                                           .layers = llmc_header(file, 4),
                                           .heads = llmc_header(file, 5),
                                           .channels = llmc_header(file, 6),
                                           .padded_vocabulary = llmc_header(file, 7),
                                           .epsilon = epsilon};
    return gpt2_config_check(&weights->config, file->path, error);
}

bool gpt2_llmc_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error) {
    *weights = (struct gpt2_weights){0};
    struct gpt2_file *file = &weights->file;
    enum gpt2_type type = GPT2_F32;
    bool ok = gpt2_file_open(file, path, error) && read_config(weights, &type, error);
    if (ok) {
        int64_t count = gpt2_config_weights(&weights->config, weights->config.padded_vocabulary);
        uint64_t expected = LLMC_HEADER_BYTES + (uint64_t)count * gpt2_type_bytes(type);
        ok = file->size == expected ||
             gpt2_fail(error, "%s: %zu bytes, but by its header it has %llu: %s", path, file->size,
                       (unsigned long long)expected, file->size < expected ? "truncated?" : "something was appended?");
    }
    ok = ok && llmc_place_views(weights, file->bytes + LLMC_HEADER_BYTES, type, error);
    if (!ok) { gpt2_weights_close(weights); }
    return ok;
}

/* ---- writing ---- */

static bool write_zeros(struct gpt2_output *output, size_t bytes, struct gpt2_error *error) {
    static const uint8_t zeros[CHUNK];
    for (; bytes > 0; bytes -= bytes < CHUNK ? bytes : CHUNK) {
        if (!gpt2_output_write(output, zeros, bytes < CHUNK ? bytes : CHUNK, error)) { return false; }
    }
    return true;
}

static bool write_tensor(struct gpt2_output *output, const struct gpt2_source *source, enum gpt2_tensor tensor,
                         enum gpt2_type type, struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    size_t bytes = (size_t)gpt2_tensor_elements(config, tensor) * gpt2_type_bytes(type);
    void *buffer = malloc(bytes);
    bool ok = buffer || gpt2_fail(error, "%s: out of memory", output->path);
    for (int layer = 0; ok && layer < gpt2_tensor_layers(config, tensor); layer++) {
        ok = source->read(source->context, tensor, layer, type, GPT2_OUT_IN, buffer, error) &&
             gpt2_output_write(output, buffer, bytes, error);
    }
    free(buffer);
    size_t padding = (size_t)(config->padded_vocabulary - config->vocabulary) * (size_t)config->channels;
    return ok && (tensor != GPT2_WTE || write_zeros(output, padding * gpt2_type_bytes(type), error));
}

bool llmc_write_tensors(struct gpt2_output *output, const struct gpt2_source *source, enum gpt2_type type,
                        struct gpt2_error *error) {
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        if (!write_tensor(output, source, (enum gpt2_tensor)tensor, type, error)) { return false; }
    }
    return true;
}

bool gpt2_llmc_write(const char *path, const struct gpt2_source *source, enum gpt2_type type,
                     struct gpt2_error *error) {
    const char *differs = gpt2_config_differs(&source->config);
    if (differs) {
        return gpt2_fail(error, "%s: llm.c's format has no place for the model's %s: write a folder instead", path,
                         differs);
    }
    const struct gpt2_config *config = &source->config;
    struct gpt2_output output = {0};
    if (type == GPT2_F16) { return gpt2_fail(error, "%s: a checkpoint of llm.c is F32 or BF16, not F16", path); }
    if (!gpt2_config_check(config, path, error)) { return false; }
    if (config->epsilon != epsilon) {
        return gpt2_fail(error, "%s: a checkpoint of llm.c has a LayerNorm epsilon of 1e-5, this model has %g", path,
                         (double)config->epsilon);
    }
    const int32_t header[] = {MAGIC,
                              type == GPT2_F32 ? VERSION_F32 : VERSION_BF16,
                              config->max_tokens,
                              config->vocabulary,
                              config->layers,
                              config->heads,
                              config->channels,
                              config->padded_vocabulary};
    bool ok = gpt2_output_begin(&output, path, error) &&
              llmc_write_header(&output, header, sizeof header / sizeof header[0], error) &&
              llmc_write_tensors(&output, source, type, error) && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return ok;
}

/* ---- debug states ---- */

enum { DEBUG_MAGIC = 20240327, DEBUG_VERSION = 2, MOST_BATCH = 1 << 20 };

static const char debug_state[] = "a debug state of llm.c";

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
    if (!llmc_check_header(file, DEBUG_MAGIC, DEBUG_VERSION, debug_state, error)) { return false; }
    state->B = llmc_header(file, 2);
    state->T = llmc_header(file, 3);
    if (state->B < 1 || state->B > MOST_BATCH || state->T < 1 || state->T > config->max_tokens) {
        return gpt2_fail(error, "%s: B = %d, T = %d are not a valid batch for a context of %d", file->path, state->B,
                         state->T, config->max_tokens);
    }
    uint64_t tokens = (uint64_t)state->B * (uint64_t)state->T, logits;
    uint64_t gradients = (uint64_t)gpt2_config_weights(config, config->padded_vocabulary);
    if (__builtin_mul_overflow(tokens, (uint64_t)config->vocabulary, &logits) || logits > UINT64_MAX / 16 ||
        file->size != LLMC_HEADER_BYTES + 4 * (2 * tokens + logits + 1 + gradients)) {
        return gpt2_fail(error, "%s: its %zu bytes are not what B = %d, T = %d and the sizes of the model give",
                         file->path, file->size, state->B, state->T);
    }
    const uint8_t *at = file->bytes + LLMC_HEADER_BYTES; /* aligned, as the mapping and the header are */
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
    const int32_t header[] = {DEBUG_MAGIC, DEBUG_VERSION, state->B, state->T};
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

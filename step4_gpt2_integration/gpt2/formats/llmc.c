#include "llmc.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 20240326, VERSION_F32 = 3, VERSION_BF16 = 5, PIECE = 1 << 16 };

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
    return gpt2_fail(error, "%s: %s of version %d, which is not read (%d is)", file->path, kind, llmc_header(file, 1),
                     version);
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
        for (int layer = 0; layer < (gpt2_tensor_is_layered(tensor) ? config->layers : 1); layer++) {
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
        return gpt2_fail(error, "%s: version 1, whose vocabulary is not padded, is not read: export it as version 3",
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
    static const uint8_t zeros[PIECE];
    for (; bytes > 0; bytes -= bytes < PIECE ? bytes : PIECE) {
        if (!gpt2_output_write(output, zeros, bytes < PIECE ? bytes : PIECE, error)) { return false; }
    }
    return true;
}

static bool write_tensor(struct gpt2_output *output, const struct gpt2_source *source, enum gpt2_tensor tensor,
                         enum gpt2_type type, struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    size_t bytes = (size_t)gpt2_tensor_elements(config, tensor) * gpt2_type_bytes(type);
    void *buffer = malloc(bytes);
    bool ok = buffer || gpt2_fail(error, "%s: out of memory", output->path);
    for (int layer = 0; ok && layer < (gpt2_tensor_is_layered(tensor) ? config->layers : 1); layer++) {
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

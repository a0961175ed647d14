/* weights.c — opens weights of either format, and reads tensors in a type and layout (weights.h). */
#include "weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/codes.h"
#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"

enum { TILE = 64 };

bool gpt2_weights_allocate(struct gpt2_weights *weights, struct gpt2_error *error) {
    weights->views = calloc((size_t)GPT2_TENSORS * (size_t)weights->config.layers, sizeof *weights->views);
    return weights->views || gpt2_fail(error, "%s: out of memory", weights->file.path);
}

struct gpt2_view *gpt2_weights_view(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer) {
    return &weights->views[(size_t)tensor * (size_t)weights->config.layers + (size_t)layer];
}

void gpt2_weights_close(struct gpt2_weights *weights) {
    free(weights->views);
    free(weights->input_scales);
    for (int i = 0; i < weights->part_count; i++) { gpt2_file_close(&weights->parts[i]); }
    free(weights->parts);
    gpt2_file_close(&weights->file);
    *weights = (struct gpt2_weights){0};
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool gpt2_weights_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error) {
    struct stat status;
    if (ends_with(path, ".safetensors") || (stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        return gpt2_hf_open(weights, path, error);
    }
    if (ends_with(path, ".json")) {
        *weights = (struct gpt2_weights){0};
        return gpt2_fail(error, "%s: a part of a model: name the folder that it is in", path);
    }
    return gpt2_llmc_open(weights, path, error);
}

/* ---- reading ---- */

/* Copies column x of a tile, whose rows are TILE elements apart, to a row. */
static void copy_column(uint8_t *out, const void *tile, size_t bytes, int64_t x, int64_t height) {
    if (bytes == sizeof(float)) {
        float column[TILE];
        for (int64_t y = 0; y < height; y++) { column[y] = ((const float *)tile)[y * TILE + x]; }
        memcpy(out, column, (size_t)height * bytes);
    } else {
        uint16_t column[TILE];
        for (int64_t y = 0; y < height; y++) { column[y] = ((const uint16_t *)tile)[y * TILE + x]; }
        memcpy(out, column, (size_t)height * bytes);
    }
}

/* Transposes a (rows, columns) matrix tile by tile, so that both sides stay in the cache. */
static size_t transpose(const struct gpt2_view *view, int64_t rows, int64_t columns, enum gpt2_type type,
                        uint8_t *out) {
    const uint8_t *in = view->bytes;
    size_t in_bytes = gpt2_type_bytes(view->type), out_bytes = gpt2_type_bytes(type), lost = 0;
    for (int64_t row = 0; row < rows; row += TILE) {
        for (int64_t column = 0; column < columns; column += TILE) {
            float tile[TILE * TILE]; /* of the new type */
            int64_t height = rows - row < TILE ? rows - row : TILE;
            int64_t width = columns - column < TILE ? columns - column : TILE;
            for (int64_t y = 0; y < height; y++) {
                lost += gpt2_convert((uint8_t *)tile + (size_t)(y * TILE) * out_bytes, type,
                                     in + (size_t)((row + y) * columns + column) * in_bytes, view->type, (size_t)width);
            }
            for (int64_t x = 0; x < width; x++) {
                copy_column(out + (size_t)((column + x) * rows + row) * out_bytes, tile, out_bytes, x, height);
            }
        }
    }
    return lost;
}

/* The place of a code. */
static int64_t code_at(const struct gpt2_view *view, int64_t row, int64_t column) {
    return view->layout == GPT2_OUT_IN ? row * view->columns + column : column * view->rows + row;
}

static float scale_at(const struct gpt2_view *view, int64_t row) {
    float scale;
    memcpy(&scale, (const uint8_t *)view->scales + (size_t)row * sizeof scale, sizeof scale);
    return scale;
}

/* Decodes codes to `out`, TILE elements of a row of `out` at a time. */
static size_t decode(const struct gpt2_view *view, enum gpt2_type type, enum gpt2_layout layout, uint8_t *out) {
    const bool by_out = layout == GPT2_OUT_IN;
    const int64_t height = by_out ? view->rows : view->columns, width = by_out ? view->columns : view->rows;
    const uint8_t *codes = view->bytes;
    float value[256], tile[TILE];
    size_t lost = 0;
    for (int code = 0; code < 256; code++) { value[code] = gpt2_code_value(view->scheme, (uint8_t)code); }
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x += TILE) {
            const int64_t count = width - x < TILE ? width - x : TILE;
            for (int64_t i = 0; i < count; i++) {
                const int64_t row = by_out ? y : x + i, column = by_out ? x + i : y;
                tile[i] = value[codes[code_at(view, row, column)]] * scale_at(view, row);
            }
            lost += gpt2_convert(out + (size_t)(y * width + x) * gpt2_type_bytes(type), type, tile, GPT2_F32,
                                 (size_t)count);
        }
    }
    return lost;
}

size_t gpt2_view_read(const struct gpt2_view *view, enum gpt2_type type, enum gpt2_layout layout, void *out) {
    if (view->scheme != GPT2_PLAIN) { return decode(view, type, layout, out); }
    if (layout == view->layout || view->rows == 1 || view->columns == 1) {
        return gpt2_convert(out, type, view->bytes, view->type, (size_t)(view->rows * view->columns));
    }
    bool by_out = view->layout == GPT2_OUT_IN;
    return transpose(view, by_out ? view->rows : view->columns, by_out ? view->columns : view->rows, type, out);
}

bool gpt2_weights_read(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                       enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    const struct gpt2_view *view = gpt2_weights_view(weights, tensor, layer);
    size_t lost = gpt2_view_read(view, type, gpt2_tensor_is_linear(tensor) ? layout : view->layout, out);
    if (lost == 0) { return true; }
    char name[GPT2_NAME_BYTES];
    gpt2_tensor_name(tensor, layer, name);
    return gpt2_fail(error, "%s: %s: %zu of its values are beyond the range of %s", weights->file.path, name, lost,
                     gpt2_type_name(type));
}

bool gpt2_weights_codes(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer, uint8_t *codes,
                        float *scales, struct gpt2_error *error) {
    const struct gpt2_view *view = gpt2_weights_view(weights, tensor, layer);
    const uint8_t *from = view->bytes;
    bool finite = true;
    for (int64_t row = 0; row < view->rows; row++) {
        scales[row] = scale_at(view, row);
        finite = finite && isfinite(scales[row]);
        for (int64_t column = 0; column < view->columns; column++) {
            const uint8_t code = from[code_at(view, row, column)];
            finite = finite && (view->scheme != GPT2_FP8 || (code & 0x7f) != 0x7f);
            codes[row * view->columns + column] = code;
        }
    }
    char name[GPT2_NAME_BYTES];
    gpt2_tensor_name(tensor, layer, name);
    return finite || gpt2_fail(error, "%s: %s: a code or a scale is not finite", weights->file.path, name);
}

static size_t count_not_finite(const struct gpt2_view *view) {
    const uint8_t *bytes = view->bytes;
    const int64_t elements = view->rows * view->columns;
    float values[TILE * TILE];
    size_t found = 0;
    for (int64_t first = 0; first < elements; first += TILE * TILE) {
        const int64_t count = elements - first < TILE * TILE ? elements - first : TILE * TILE;
        gpt2_convert(values, GPT2_F32, bytes + (size_t)first * gpt2_type_bytes(view->type), view->type, (size_t)count);
        for (int64_t i = 0; i < count; i++) { found += !isfinite(values[i]); }
    }
    return found;
}

/* The file that holds a tensor, for messages. */
static const char *file_of(const struct gpt2_weights *weights, const struct gpt2_view *view) {
    const uintptr_t at = (uintptr_t)view->bytes;
    for (int i = 0; i < weights->part_count; i++) {
        const uintptr_t begin = (uintptr_t)weights->parts[i].bytes;
        if (at >= begin && at - begin < weights->parts[i].size) { return weights->parts[i].path; }
    }
    return weights->file.path;
}

bool gpt2_weights_finite(const struct gpt2_weights *weights, struct gpt2_error *error) {
    for (int i = 0; i < GPT2_TENSORS; i++) {
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        for (int layer = 0; layer < gpt2_tensor_layers(&weights->config, tensor); layer++) {
            const struct gpt2_view *view = gpt2_weights_view(weights, tensor, layer);
            const size_t found = count_not_finite(view);
            if (found == 0) { continue; }
            char name[GPT2_NAME_BYTES];
            gpt2_tensor_name(tensor, layer, name);
            return gpt2_fail(error,
                             "%s: %s: %zu of its values are NaN or infinite: take another checkpoint, or get the file "
                             "anew",
                             file_of(weights, view), name, found);
        }
    }
    return true;
}

static bool read_from(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                      void *out, struct gpt2_error *error) {
    return gpt2_weights_read(context, tensor, layer, type, layout, out, error);
}

static bool codes_from(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                       struct gpt2_error *error) {
    return gpt2_weights_codes(context, tensor, layer, codes, scales, error);
}

struct gpt2_source gpt2_weights_source(struct gpt2_weights *weights) {
    struct gpt2_source source = {.config = weights->config, .read = read_from, .context = weights};
    source.scheme = weights->scheme;
    source.input_scales = weights->input_scales;
    if (weights->scheme != GPT2_PLAIN) { source.read_codes = codes_from; }
    return source;
}

/* ---- scores divided by the layer's number ---- */

static void scale_queries(const struct gpt2_config *config, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                          void *values) {
    if (!config->scale_by_layer || (tensor != GPT2_QKVW && tensor != GPT2_QKVB)) { return; }
    size_t count = (size_t)(gpt2_tensor_elements(config, tensor) / 3), bytes = gpt2_type_bytes(type);
    float chunk[TILE], divisor = (float)(layer + 1);
    for (size_t at = 0; at < count; at += TILE) {
        size_t size = count - at < TILE ? count - at : TILE;
        uint8_t *place = (uint8_t *)values + at * bytes;
        gpt2_convert(chunk, GPT2_F32, place, type, size);
        for (size_t i = 0; i < size; i++) { chunk[i] /= divisor; }
        gpt2_convert(place, type, chunk, GPT2_F32, size);
    }
}

static bool read_scaled(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                        void *out, struct gpt2_error *error) {
    const struct gpt2_source *source = context;
    if (!source->read(source->context, tensor, layer, type, layout, out, error)) { return false; }
    scale_queries(&source->config, tensor, layer, type, out);
    return true;
}

static bool codes_scaled(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                         struct gpt2_error *error) {
    const struct gpt2_source *source = context;
    if (!source->read_codes(source->context, tensor, layer, codes, scales, error)) { return false; }
    for (int row = 0; tensor == GPT2_QKVW && row < source->config.channels; row++) {
        scales[row] /= (float)(layer + 1);
    }
    return true;
}

struct gpt2_source gpt2_scaled_source(const struct gpt2_source *source) {
    if (!source->config.scale_by_layer) { return *source; }
    struct gpt2_source scaled = *source;
    scaled.read = read_scaled;
    scaled.context = (void *)(uintptr_t)source;
    if (source->read_codes != NULL) { scaled.read_codes = codes_scaled; }
    return scaled;
}

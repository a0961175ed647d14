/* quantize.c — a source of codes (quantize.h). */
#include "quantize.h"

#include <math.h>
#include <stdlib.h>

bool gpt2_quantizer_open(struct gpt2_quantizer *quantizer, const struct gpt2_source *from, enum gpt2_scheme scheme,
                         struct gpt2_error *error) {
    int64_t elements = 0, rows = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        if (!gpt2_tensor_in_codes(&from->config, tensor)) { continue; }
        if (gpt2_tensor_elements(&from->config, tensor) > elements) {
            elements = gpt2_tensor_elements(&from->config, tensor);
        }
        if (gpt2_tensor_rows(&from->config, tensor) > rows) { rows = gpt2_tensor_rows(&from->config, tensor); }
    }
    *quantizer = (struct gpt2_quantizer){.from = from, .scheme = scheme};
    quantizer->room = malloc((size_t)elements * sizeof *quantizer->room);
    quantizer->codes = malloc((size_t)elements);
    quantizer->scales = malloc((size_t)rows * sizeof *quantizer->scales);
    if (quantizer->room != NULL && quantizer->codes != NULL && quantizer->scales != NULL) { return true; }
    gpt2_quantizer_close(quantizer);
    return gpt2_fail(error, "out of memory for a matrix of the model");
}

void gpt2_quantizer_close(struct gpt2_quantizer *quantizer) {
    free(quantizer->room);
    free(quantizer->codes);
    free(quantizer->scales);
    *quantizer = (struct gpt2_quantizer){.from = NULL};
}

/* Of a matrix in q->room, as of one long row. */
static bool one_scale(const struct gpt2_quantizer *q, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                      struct gpt2_error *error) {
    const int64_t rows = gpt2_tensor_rows(&q->from->config, tensor);
    const float scale = gpt2_quantize_row(codes, q->room, gpt2_tensor_elements(&q->from->config, tensor), q->scheme);
    for (int64_t row = 0; row < rows; row++) { scales[row] = scale; }
    char name[GPT2_NAME_BYTES];
    gpt2_tensor_name(tensor, layer, name);
    return !isnan(scale) || gpt2_fail(error, "%s: a weight is not finite", name);
}

static bool read_codes(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                       struct gpt2_error *error) {
    const struct gpt2_quantizer *q = context;
    const int64_t rows = gpt2_tensor_rows(&q->from->config, tensor);
    const int64_t columns = gpt2_tensor_columns(&q->from->config, tensor);
    if (!q->from->read(q->from->context, tensor, layer, GPT2_F32, GPT2_OUT_IN, q->room, error)) { return false; }
    if (q->scheme == GPT2_FP8 && q->input_scales != NULL && gpt2_tensor_product(tensor) >= 0) {
        return one_scale(q, tensor, layer, codes, scales, error);
    }
    for (int64_t row = 0; row < rows; row++) {
        scales[row] = gpt2_quantize_row(codes + row * columns, q->room + row * columns, columns, q->scheme);
        if (isnan(scales[row])) {
            char name[GPT2_NAME_BYTES];
            gpt2_tensor_name(tensor, layer, name);
            return gpt2_fail(error, "%s: a weight of channel %lld is not finite", name, (long long)row);
        }
    }
    return true;
}

static bool read_decoded(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    const struct gpt2_quantizer *q = context;
    const struct gpt2_config *config = &q->from->config;
    if (!gpt2_tensor_in_codes(config, tensor)) {
        return q->from->read(q->from->context, tensor, layer, type, layout, out, error);
    }
    if (!read_codes(context, tensor, layer, q->codes, q->scales, error)) { return false; }
    const struct gpt2_view view = {.bytes = q->codes,
                                   .layout = GPT2_OUT_IN,
                                   .rows = gpt2_tensor_rows(config, tensor),
                                   .columns = gpt2_tensor_columns(config, tensor),
                                   .scheme = q->scheme,
                                   .scales = q->scales};
    return gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out) == 0 ||
           gpt2_fail(error, "a decoded weight is beyond the range of %s", gpt2_type_name(type));
}

struct gpt2_source gpt2_quantizer_source(struct gpt2_quantizer *quantizer) {
    return (struct gpt2_source){.config = quantizer->from->config,
                                .read = read_decoded,
                                .context = quantizer,
                                .scheme = quantizer->scheme,
                                .read_codes = read_codes,
                                .input_scales = quantizer->input_scales,
                                .calibration = quantizer->calibration};
}

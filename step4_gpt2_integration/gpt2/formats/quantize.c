/* quantize.c — weights to codes and back, on the host (quantize.h). */
#include "quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *type;
    float most;
} schemes[] = {
    [GPT2_PLAIN] = {"plain", "", 0.0f}, [GPT2_INT8] = {"int8", "I8", 127.0f}, [GPT2_FP8] = {"fp8", "F8_E4M3", 448.0f}};

const char *gpt2_scheme_name(enum gpt2_scheme scheme) {
    return schemes[scheme].name;
}
const char *gpt2_scheme_type(enum gpt2_scheme scheme) {
    return schemes[scheme].type;
}
float gpt2_scheme_most(enum gpt2_scheme scheme) {
    return schemes[scheme].most;
}

bool gpt2_scheme_find(const char *name, enum gpt2_scheme *scheme) {
    for (int i = GPT2_INT8; i <= GPT2_FP8; i++) {
        *scheme = (enum gpt2_scheme)i;
        if (strcmp(name, schemes[i].name) == 0) { return true; }
    }
    return false;
}

bool gpt2_tensor_in_codes(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    return gpt2_tensor_is_linear(tensor) || tensor == (config->untied ? GPT2_HEAD : GPT2_WTE);
}

/* ---- e4m3 ---- */

float gpt2_float_of_e4m3(uint8_t bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const float magnitude = exponent == 15 && fraction == 7 ? NAN
                            : exponent == 0                 ? ldexpf((float)fraction, -9)
                                                            : ldexpf((float)(8 + fraction), exponent - 10);
    return bits & 0x80 ? -magnitude : magnitude;
}

uint8_t gpt2_e4m3_of_float(float value) {
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    const float magnitude = fabsf(value);
    int exponent;
    if (isnan(value)) { return 0x7f; }
    if (magnitude >= 448.0f) { return sign | 0x7e; }
    frexpf(magnitude, &exponent);               /* magnitude < 2^exponent */
    if (magnitude < 0x1p-6f) { exponent = -5; } /* the unit below 2^-6 is 2^-9, too */
    const int units =
        (int)rintf(ldexpf(magnitude, 4 - exponent));     /* of 2^(exponent - 4): 8 to 16, or 0 to 8; ties to even */
    return sign | (uint8_t)((exponent + 5) * 8 + units); /* a carry goes into the exponent */
}

float gpt2_code_value(enum gpt2_scheme scheme, uint8_t code) {
    return scheme == GPT2_INT8 ? (float)(int8_t)code : gpt2_float_of_e4m3(code);
}

/* ---- a row ---- */

float gpt2_quantize_row(uint8_t *codes, const float *row, int64_t count, enum gpt2_scheme scheme) {
    const double most = (double)gpt2_scheme_most(scheme);
    float largest = 0.0f;
    memset(codes, 0, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(row[i])) { return NAN; }
        largest = fmaxf(largest, fabsf(row[i]));
    }
    if (largest == 0.0f) { return 0.0f; }
    const float scale = fmaxf((float)((double)largest / most), 0x1p-126f); /* never subnormal */
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)row[i] / (double)scale;
        codes[i] = scheme == GPT2_INT8 ? (uint8_t)(int8_t)fmin(fmax(rint(value), -most), most)
                                       : gpt2_e4m3_of_float((float)value);
    }
    return scale;
}

/* ---- a source in 8 bits ---- */

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

static bool read_codes(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                       struct gpt2_error *error) {
    const struct gpt2_quantizer *q = context;
    const int64_t rows = gpt2_tensor_rows(&q->from->config, tensor);
    const int64_t columns = gpt2_tensor_columns(&q->from->config, tensor);
    if (!q->from->read(q->from->context, tensor, layer, GPT2_F32, GPT2_OUT_IN, q->room, error)) { return false; }
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
                                .read_codes = read_codes};
}

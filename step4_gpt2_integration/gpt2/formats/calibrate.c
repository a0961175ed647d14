/* calibrate.c — magnitudes of activations, scales from them, and smoothed weights (calibrate.h). */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[GPT2_CALIBRATION_METHODS] = {
    [GPT2_ABSMAX] = "absmax", [GPT2_PERCENTILE] = "percentile", [GPT2_SMOOTH] = "smooth"};

const char *gpt2_calibration_name(enum gpt2_calibration_method method) {
    return names[method];
}

bool gpt2_calibration_find(const char *name, enum gpt2_calibration_method *method) {
    for (int i = 0; i < GPT2_CALIBRATION_METHODS; i++) {
        *method = (enum gpt2_calibration_method)i;
        if (strcmp(name, names[i]) == 0) { return true; }
    }
    return false;
}

/* ---- magnitudes ---- */

bool gpt2_calibration_open(struct gpt2_calibration *calibration, const struct gpt2_config *config,
                           struct gpt2_error *error) {
    const size_t inputs = (size_t)config->layers * GPT2_PRODUCTS;
    *calibration = (struct gpt2_calibration){.config = *config};
    calibration->largest = calloc(inputs * 4 * (size_t)config->channels, sizeof *calibration->largest);
    calibration->counts = calloc(inputs * GPT2_MAGNITUDES, sizeof *calibration->counts);
    if (calibration->largest != NULL && calibration->counts != NULL) { return true; }
    gpt2_calibration_close(calibration);
    return gpt2_fail(error, "out of memory for the magnitudes of activations");
}

void gpt2_calibration_close(struct gpt2_calibration *calibration) {
    free(calibration->largest);
    free(calibration->counts);
    *calibration = (struct gpt2_calibration){.largest = NULL};
}

static float *largest_of(const struct gpt2_calibration *calibration, int layer, int product) {
    return calibration->largest + ((int64_t)layer * GPT2_PRODUCTS + product) * 4 * calibration->config.channels;
}

static uint64_t *counts_of(const struct gpt2_calibration *calibration, int layer, int product) {
    return calibration->counts + ((int64_t)layer * GPT2_PRODUCTS + product) * GPT2_MAGNITUDES;
}

bool gpt2_calibration_take(struct gpt2_calibration *calibration, int layer, int product, const float *values,
                           int64_t rows, int64_t columns, struct gpt2_error *error) {
    float *largest = largest_of(calibration, layer, product);
    uint64_t *counts = counts_of(calibration, layer, product);
    for (int64_t i = 0; i < rows * columns; i++) {
        const float magnitude = fabsf(values[i]);
        uint32_t bits;
        if (!isfinite(magnitude)) {
            return gpt2_fail(error, "layer %d: an activation is not finite: it has no scale", layer);
        }
        memcpy(&bits, &magnitude, sizeof bits);
        counts[bits >> 16]++;
        largest[i % columns] = fmaxf(largest[i % columns], magnitude);
    }
    calibration->values += rows * columns;
    return true;
}

/* ---- scales ---- */

static float most(const float *values, int64_t count) {
    float largest = 0.0f;
    for (int64_t i = 0; i < count; i++) { largest = fmaxf(largest, values[i]); }
    return largest;
}

/* The upper end of the interval that 99.99 % of the values are below or in. */
static float percentile(const uint64_t *counts) {
    uint64_t all = 0, below = 0;
    for (int i = 0; i < GPT2_MAGNITUDES; i++) { all += counts[i]; }
    uint32_t at = 0;
    while (at < GPT2_MAGNITUDES - 1 && (below += counts[at]) < all - all / 10000) { at++; }
    const uint32_t bits = (at + 1) << 16;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return magnitude;
}

void gpt2_calibration_scales(const struct gpt2_calibration *calibration, enum gpt2_calibration_method method,
                             enum gpt2_scheme scheme, float *scales) {
    for (int i = 0; i < calibration->config.layers * GPT2_PRODUCTS; i++) {
        const int layer = i / GPT2_PRODUCTS, product = i % GPT2_PRODUCTS;
        float magnitude = most(largest_of(calibration, layer, product), 4 * (int64_t)calibration->config.channels);
        if (method == GPT2_PERCENTILE) {
            magnitude = fminf(magnitude, percentile(counts_of(calibration, layer, product)));
        }
        scales[i] = magnitude > 0.0f ? fmaxf(magnitude / gpt2_scheme_most(scheme), 0x1p-100f) : 1.0f;
    }
}

/* ---- smoothing ---- */

/* The LayerNorm whose output this tensor computes or multiplies: 0, 1; -1: none. */
static int layernorm_of(enum gpt2_tensor tensor) {
    switch (tensor) {
        case GPT2_LN1W:
        case GPT2_LN1B:
        case GPT2_QKVW: return 0;
        case GPT2_LN2W:
        case GPT2_LN2B:
        case GPT2_FCW: return 1;
        default: return -1;
    }
}

static bool choose_factors(struct gpt2_smoother *smoother, struct gpt2_calibration *calibration,
                           enum gpt2_tensor tensor, int layer, struct gpt2_error *error) {
    const struct gpt2_source *from = smoother->from;
    const int64_t C = from->config.channels, rows = gpt2_tensor_rows(&from->config, tensor);
    float *factors = smoother->factors + (2 * (int64_t)layer + layernorm_of(tensor)) * C;
    float *largest = largest_of(calibration, layer, gpt2_tensor_product(tensor));
    if (!from->read(from->context, tensor, layer, GPT2_F32, GPT2_IN_OUT, smoother->room, error)) { return false; }
    for (int64_t c = 0; c < C; c++) {
        float weight = 0.0f;
        for (int64_t row = 0; row < rows; row++) { weight = fmaxf(weight, fabsf(smoother->room[c * rows + row])); }
        const double ratio = (double)largest[c] / (double)weight;
        factors[c] = ratio > 0.0 && isfinite(ratio) ? (float)exp2(rint(log2(ratio) / 2.0)) : 1.0f;
        largest[c] /= factors[c];
    }
    return true;
}

bool gpt2_smoother_open(struct gpt2_smoother *smoother, const struct gpt2_source *from,
                        struct gpt2_calibration *calibration, struct gpt2_error *error) {
    const struct gpt2_config *config = &from->config;
    *smoother = (struct gpt2_smoother){.from = from};
    smoother->factors = malloc(2 * (size_t)config->layers * (size_t)config->channels * sizeof *smoother->factors);
    smoother->room = malloc((size_t)gpt2_tensor_elements(config, GPT2_FCW) * sizeof *smoother->room);
    bool good = (smoother->factors != NULL && smoother->room != NULL) || gpt2_fail(error, "out of memory");
    for (int layer = 0; good && layer < config->layers; layer++) {
        good = choose_factors(smoother, calibration, GPT2_QKVW, layer, error) &&
               choose_factors(smoother, calibration, GPT2_FCW, layer, error);
    }
    if (!good) { gpt2_smoother_close(smoother); }
    return good;
}

void gpt2_smoother_close(struct gpt2_smoother *smoother) {
    free(smoother->factors);
    free(smoother->room);
    *smoother = (struct gpt2_smoother){.from = NULL};
}

static bool read_smoothed(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                          enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    const struct gpt2_smoother *smoother = context;
    const struct gpt2_source *from = smoother->from;
    const int layernorm = layernorm_of(tensor);
    if (layernorm < 0) { return from->read(from->context, tensor, layer, type, layout, out, error); }
    if (!from->read(from->context, tensor, layer, GPT2_F32, layout, smoother->room, error)) { return false; }
    const int64_t C = from->config.channels, count = gpt2_tensor_elements(&from->config, tensor), rows = count / C;
    const float *factors = smoother->factors + (2 * (int64_t)layer + layernorm) * C;
    for (int64_t i = 0; i < count; i++) {
        const float factor = factors[layout == GPT2_OUT_IN || rows == 1 ? i % C : i / rows];
        smoother->room[i] = gpt2_tensor_is_linear(tensor) ? smoother->room[i] * factor : smoother->room[i] / factor;
    }
    return gpt2_convert(out, type, smoother->room, GPT2_F32, (size_t)count) == 0 ||
           gpt2_fail(error, "a smoothed weight is beyond the range of %s", gpt2_type_name(type));
}

struct gpt2_source gpt2_smoother_source(struct gpt2_smoother *smoother) {
    return (struct gpt2_source){.config = smoother->from->config, .read = read_smoothed, .context = smoother};
}

/* calibrate.h — scales for activations in 8 bits, from the values that a model computes for a text.
 *
 * Four products of each layer have an input: LayerNorm 1, the heads' outputs, LayerNorm 2, GELU. An input's code is
 * round(value / scale), beyond the largest code (codes.h) the largest. Its scale is static, one for the whole tensor:
 *
 *   absmax      the largest magnitude becomes the largest code: nothing is clipped
 *   percentile  99.99 % of the values are not clipped: one large value does not make all other steps coarse
 *   smooth      absmax after each channel c of a LayerNorm's output was divided by s[c], and the next matrix's column c
 *               multiplied by it. s[c] = sqrt(largest |x[c]| / largest |W[:, c]|): activation and weight then have the same
 *               range. The division is folded into the LayerNorm's weight and bias, so the function is the same and the pass
 *               has no new work. From Xiao et al., SmoothQuant (2023), with alpha = 1/2. Here s[c] is rounded to a power of
 *               two, so that folding is exact
 *
 *     gpt2_calibration_take(&calibration, layer, product, values, rows, columns);   // for each product and pass
 *     gpt2_calibration_scales(&calibration, GPT2_PERCENTILE, GPT2_INT8, scales);
 */
#ifndef GPT2_CALIBRATE_H
#define GPT2_CALIBRATE_H

#include "gpt2/formats/codes.h"

enum gpt2_calibration_method { GPT2_ABSMAX, GPT2_PERCENTILE, GPT2_SMOOTH, GPT2_CALIBRATION_METHODS };
const char *gpt2_calibration_name(enum gpt2_calibration_method method); /* as above */
bool gpt2_calibration_find(const char *name, enum gpt2_calibration_method *method);

struct gpt2_calibration {
    struct gpt2_config config;
    float *largest;   /* (L, GPT2_PRODUCTS, 4 C): of each input's channels; the columns of its matrix are used */
    uint64_t *counts; /* (L, GPT2_PRODUCTS, GPT2_MAGNITUDES): of the values of a magnitude's interval */
    int64_t values;   /* taken so far; 0: there are no scales */
};
enum { GPT2_MAGNITUDES = 1 << 15 }; /* by the upper 16 bits of a float: steps of 1/128 of a magnitude */

bool gpt2_calibration_open(struct gpt2_calibration *calibration, const struct gpt2_config *config,
                           struct gpt2_error *error);
void gpt2_calibration_close(struct gpt2_calibration *calibration); /* may be called on an all-zero struct */

/* values: (rows, columns), the input of a product. False: one is not finite. */
bool gpt2_calibration_take(struct gpt2_calibration *calibration, int layer, int product, const float *values,
                           int64_t rows, int64_t columns, struct gpt2_error *error);

/* scales: (L, GPT2_PRODUCTS). GPT2_SMOOTH: after gpt2_smoother_open, which changes `largest`. */
void gpt2_calibration_scales(const struct gpt2_calibration *calibration, enum gpt2_calibration_method method,
                             enum gpt2_scheme scheme, float *scales);

/* The smoothed weights of `from`, which is plain and valid as long as the smoother is; calibration->largest becomes that of their
 * activations. */
struct gpt2_smoother {
    const struct gpt2_source *from;
    float *factors; /* (L, 2, C): s of LayerNorm 1 and 2 */
    float *room;    /* a matrix */
};
bool gpt2_smoother_open(struct gpt2_smoother *smoother, const struct gpt2_source *from,
                        struct gpt2_calibration *calibration, struct gpt2_error *error);
void gpt2_smoother_close(struct gpt2_smoother *smoother); /* may be called on an all-zero struct */
struct gpt2_source gpt2_smoother_source(struct gpt2_smoother *smoother);

#endif

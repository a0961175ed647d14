/* quantize.h — a model's weights as codes of 8 bits (codes.h). */
#ifndef GPT2_QUANTIZE_H
#define GPT2_QUANTIZE_H

#include "gpt2/formats/codes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A source of the same weights in 8 bits. Its read() gives the decoded weights. from: a plain source, valid as long as the
 * quantizer is. */
struct gpt2_quantizer {
    const struct gpt2_source *from;
    enum gpt2_scheme scheme;
    float *room;    /* the largest tensor */
    uint8_t *codes; /* likewise */
    float *scales;  /* (the most rows) */
    /* Of gpt2_source; set after opening, and valid as long as the quantizer is. With GPT2_FP8 each matrix then has one scale:
     * the product of codes by codes takes one for each operand (matmul.cuh). */
    const float *input_scales;
    const char *calibration;
};
bool gpt2_quantizer_open(struct gpt2_quantizer *quantizer, const struct gpt2_source *from, enum gpt2_scheme scheme,
                         struct gpt2_error *error);
void gpt2_quantizer_close(struct gpt2_quantizer *quantizer); /* may be called on an all-zero struct */
struct gpt2_source gpt2_quantizer_source(struct gpt2_quantizer *quantizer);

#ifdef __cplusplus
}
#endif

#endif

/* codes.h — weights in 8 bits: a code for each weight, and a scale for each output channel. weight = value(code) * scale.
 *
 * int8: the value is the code, -127..127; the scale is the channel's largest magnitude / 127. The error of a weight is at most
 * scale / 2.
 * fp8: the value is an e4m3 number (1 sign bit, 4 bits of exponent, bias 7, 3 of fraction; largest 448, no infinity); the scale
 * is the largest magnitude / 448. The error is at most 1/16 of the weight's magnitude, and below 2^-6 scale at most 2^-10
 * scale.
 *
 * In 8 bits are the four linear weights of each layer, and the output projection, which is wte in a tied model.
 */
#ifndef GPT2_CODES_H
#define GPT2_CODES_H

#include "gpt2/formats/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "int8", "fp8"; find: false for another name. */
const char *gpt2_scheme_name(enum gpt2_scheme scheme);
bool gpt2_scheme_find(const char *name, enum gpt2_scheme *scheme);

/* As safetensors spells the type of the codes: "I8", "F8_E4M3". */
const char *gpt2_scheme_type(enum gpt2_scheme scheme);

/* The value of the largest code: 127, 448. */
float gpt2_scheme_most(enum gpt2_scheme scheme);

/* Is this tensor in 8 bits? */
bool gpt2_tensor_in_codes(const struct gpt2_config *config, enum gpt2_tensor tensor);

/* Exact; NaN for 0x7f and 0xff. */
float gpt2_float_of_e4m3(uint8_t bits);

/* Rounds to nearest, ties to even; beyond 448 to 448; a NaN to 0x7f. */
uint8_t gpt2_e4m3_of_float(float value);

float gpt2_code_value(enum gpt2_scheme scheme, uint8_t code);

/* codes: (count) of the row, the best for the scale, which is returned. NaN: a value is not finite. A row of zeros has the
 * scale 0. */
float gpt2_quantize_row(uint8_t *codes, const float *row, int64_t count, enum gpt2_scheme scheme);

#ifdef __cplusplus
}
#endif

#endif

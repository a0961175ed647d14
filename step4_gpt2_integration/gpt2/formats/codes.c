/* codes.c — weights to codes and back, on the host (codes.h). */
#include "codes.h"

#include <math.h>
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
    uint32_t bits;
    if (isnan(value)) { return 0x7f; }
    if (magnitude >= 448.0f) { return sign | 0x7e; }
    if (magnitude < 0x1p-6f) { return sign | (uint8_t)rintf(magnitude * 0x1p9f); } /* units of 2^-9; ties to even */
    memcpy(&bits, &magnitude, sizeof bits);
    bits += 0x7ffff + (bits >> 20 & 1);                 /* ties to even; a carry goes into the exponent */
    return sign | (uint8_t)((bits >> 20) - (120 << 3)); /* the bias is 127 there, and 7 here */
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

#include "elements.h"

#include <math.h>
#include <string.h>

/* Sign, exponent and explicit mantissa bits of the three types. */
static const struct format {
    int mantissa;       /* explicit bits */
    int least_exponent; /* of a normal number: value >= 2^least_exponent */
    double largest;
} formats[OP_TYPES] = {
    [TYPE_F32] = {23, -126, 0x1.fffffep127},
    [TYPE_F16] = {10, -14, 65504.0},
    [TYPE_BF16] = {7, -126, 0x1.fep127},
};

/* The distance between neighbours of the binade that holds |value|: a power of two, made from its exponent's bits. */
static double spacing(const struct format *format, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023; /* -1023 for 0 and for values below the types' smallest */
    if (exponent < format->least_exponent) { exponent = format->least_exponent; }
    bits = (uint64_t)(exponent - format->mantissa + 1023) << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double element_round(enum op_type type, double value) {
    const struct format *format = &formats[type];
    if (!isfinite(value) || value == 0.0) { return value; }
    /* Adding a number whose last bit is worth one unit rounds the value to that unit; subtracting it again is exact. */
    double shift = 0x1.8p52 * spacing(format, value), rounded = value + shift - shift;
    if (fabs(rounded) > format->largest) { return copysign(INFINITY, value); }
    return rounded == 0.0 ? copysign(0.0, value) : rounded;
}

double element_ulp(enum op_type type, double value) {
    return isfinite(value) ? spacing(&formats[type], value) : 0.0;
}

enum op_type element_type(const struct op *op, int tensor, enum op_type type) {
    return op->tensor[tensor].element == ELEMENT_T ? type : TYPE_F32;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bf16(float value) {
    if (isnan(value)) { return (uint16_t)(bits_of(value) >> 16 | 0x40); }
    return (uint16_t)(bits_of((float)element_round(TYPE_BF16, value)) >> 16);
}

static uint16_t to_f16(float value) {
    uint32_t sign = bits_of(value) >> 16 & 0x8000;
    double size = fabs(element_round(TYPE_F16, value));
    if (isnan(value)) { return (uint16_t)(sign | 0x7e00 | (bits_of(value) >> 13 & 0x1ff)); }
    if (isinf(size)) { return (uint16_t)(sign | 0x7c00); }
    if (size < 0x1p-14) { return (uint16_t)(sign | (uint32_t)(size * 0x1p24)); }
    return (uint16_t)(sign | (bits_of((float)size) - (112u << 23)) >> 13); /* biases 127 and 15 */
}

static float from_f16(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    if (exponent == 31) { return float_of(sign | 0x7f800000u | (uint32_t)mantissa << 13); }
    if (exponent == 0) { return float_of(sign | bits_of((float)mantissa * 0x1p-24f)); }
    return float_of(sign | (uint32_t)(exponent + 112) << 23 | (uint32_t)mantissa << 13); /* biases 15 and 127 */
}

void elements_pack(enum op_element element, enum op_type type, const float *values, size_t count, void *bytes) {
    if (element == ELEMENT_INT) {
        for (size_t i = 0; i < count; i++) { ((int32_t *)bytes)[i] = (int32_t)values[i]; }
    } else if (element == ELEMENT_FLOAT || type == TYPE_F32) {
        if (count) { memcpy(bytes, values, count * sizeof(float)); }
    } else {
        uint16_t *to = bytes;
        for (size_t i = 0; i < count; i++) { to[i] = type == TYPE_F16 ? to_f16(values[i]) : to_bf16(values[i]); }
    }
}

void elements_unpack(enum op_element element, enum op_type type, const void *bytes, size_t count, float *values) {
    if (element == ELEMENT_INT) {
        for (size_t i = 0; i < count; i++) { values[i] = (float)((const int32_t *)bytes)[i]; }
    } else if (element == ELEMENT_FLOAT || type == TYPE_F32) {
        if (count) { memcpy(values, bytes, count * sizeof(float)); }
    } else {
        const uint16_t *from = bytes;
        for (size_t i = 0; i < count; i++) {
            values[i] = type == TYPE_F16 ? from_f16(from[i]) : float_of((uint32_t)from[i] << 16);
        }
    }
}

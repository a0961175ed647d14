#include "number.h"

#include <string.h>

enum { CHUNK = 1024 };

const char *gpt2_type_name(enum gpt2_type type) {
    return type == GPT2_F32 ? "F32" : type == GPT2_F16 ? "F16" : "BF16";
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

/* The conversions are branch-free, so that the compiler can vectorise them: all cases are computed, and one is selected. */

static inline float of_bf16(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

static inline uint16_t to_bf16(float value) {
    uint32_t bits = bits_of(value), nan = (bits & 0x7fffffff) > 0x7f800000;
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1); /* adds half a unit; ties to even */
    return (uint16_t)((nan ? bits | 0x400000 : rounded) >> 16);
}

/* F16: 1 sign bit, 5 of exponent (bias 15), 10 of fraction. F32: 1, 8 (bias 127), 23. */
static inline float of_f16(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fffu, fraction = bits & 1023u;
    uint32_t normal = (magnitude << 13) + ((127 - 15) << 23);
    uint32_t special = 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0); /* infinity, or a quiet NaN */
    uint32_t subnormal = bits_of((float)(int32_t)fraction * 0x1p-24f);
    return float_of(sign | (magnitude >= 0x7c00 ? special : magnitude < 0x400 ? subnormal : normal));
}

static inline uint16_t to_f16(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - ((127u - 15) << 23)) >> 13;
    /* Below 2^-14 the unit is 2^-24, as that of a float at 0.5: an addition rounds. */
    uint32_t subnormal = bits_of(float_of(magnitude < 0x38800000 ? magnitude : 0) + 0.5f) - 0x3f000000;
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 1023);
    uint32_t large = magnitude > 0x7f800000 ? nan : 0x7c00; /* 65520 and up round to infinity */
    return (uint16_t)(sign | (magnitude >= 0x477ff000 ? large : magnitude < 0x38800000 ? subnormal : normal));
}

float gpt2_float_of_bf16(uint16_t bits) {
    return of_bf16(bits);
}
uint16_t gpt2_bf16_of_float(float value) {
    return to_bf16(value);
}
float gpt2_float_of_f16(uint16_t bits) {
    return of_f16(bits);
}
uint16_t gpt2_f16_of_float(float value) {
    return to_f16(value);
}

/* ---- rows: at most CHUNK elements, in aligned buffers ---- */

static void to_floats(float *restrict out, const uint16_t *restrict in, enum gpt2_type type, size_t count) {
    if (type == GPT2_F16) {
        for (size_t i = 0; i < count; i++) { out[i] = of_f16(in[i]); }
    } else {
        for (size_t i = 0; i < count; i++) { out[i] = of_bf16(in[i]); }
    }
}

static size_t from_floats(uint16_t *restrict out, const float *restrict in, enum gpt2_type type, size_t count) {
    const uint16_t infinite = type == GPT2_F16 ? 0x7c00 : 0x7f80;
    uint32_t lost = 0;
    if (type == GPT2_F16) {
        for (size_t i = 0; i < count; i++) { out[i] = to_f16(in[i]); }
    } else {
        for (size_t i = 0; i < count; i++) { out[i] = to_bf16(in[i]); }
    }
    for (size_t i = 0; i < count; i++) {
        lost += ((out[i] & 0x7fff) == infinite) & ((bits_of(in[i]) & 0x7fffffff) < 0x7f800000);
    }
    return lost;
}

size_t gpt2_convert(void *out, enum gpt2_type out_type, const void *in, enum gpt2_type in_type, size_t count) {
    size_t lost = 0;
    if (out_type == in_type) {
        memcpy(out, in, count * gpt2_type_bytes(in_type));
        return 0;
    }
    for (size_t done = 0; done < count; done += CHUNK) {
        float floats[CHUNK];
        uint16_t halves[CHUNK];
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        const uint8_t *from = (const uint8_t *)in + done * gpt2_type_bytes(in_type);
        uint8_t *to = (uint8_t *)out + done * gpt2_type_bytes(out_type);
        if (in_type == GPT2_F32) {
            memcpy(floats, from, now * sizeof *floats);
        } else {
            memcpy(halves, from, now * sizeof *halves);
            to_floats(floats, halves, in_type, now);
        }
        if (out_type == GPT2_F32) {
            memcpy(to, floats, now * sizeof *floats);
        } else {
            lost += from_floats(halves, floats, out_type, now);
            memcpy(to, halves, now * sizeof *halves);
        }
    }
    return lost;
}

/* minifloat.c — conversions between 16-bit floating-point formats and double, with any number of exponent bits. */
#include "minifloat.h"

#include <math.h>

/* Both formats have 16 bits: 1 sign, `exponent` bits, the rest mantissa. */
static double widen(uint16_t bits, int exponent_bits) {
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    double value;
    if (exponent == (1 << exponent_bits) - 1)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - mantissa_bits);
    else
        value = ldexp(mantissa | 1 << mantissa_bits, exponent - bias - mantissa_bits);
    return bits & 0x8000 ? -value : value;
}

static uint16_t narrow(double value, int exponent_bits) {
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << exponent_bits) - 1) << mantissa_bits);
    if (isnan(value)) return 0x7fff; /* what the hardware returns for every NaN */
    value = fabs(value);
    if (isinf(value)) return sign | infinity;
    int exponent;
    frexp(value, &exponent); /* value = [0.5, 1) * 2^exponent */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    /* In units of the last place; a carry runs into the exponent, and past the largest number into infinity. */
    uint32_t units = (uint32_t)rint(ldexp(value, mantissa_bits - scale));
    uint32_t bits = units + ((uint32_t)(scale + bias - 1) << mantissa_bits);
    return sign | (uint16_t)(bits < infinity ? bits : infinity);
}

uint16_t half_add(uint16_t a, uint16_t b) {
    return narrow(widen(a, 5) + widen(b, 5), 5);
}
uint16_t bfloat_add(uint16_t a, uint16_t b) {
    return narrow(widen(a, 8) + widen(b, 8), 8);
}

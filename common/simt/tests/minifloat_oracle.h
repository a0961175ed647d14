/* minifloat_oracle.h — half precision and bfloat16 by definition: which numbers a format has, and rounding by a search for
 * the neighbours of the exact result.
 */
#ifndef SIMT_TESTS_MINIFLOAT_ORACLE_H
#define SIMT_TESTS_MINIFLOAT_ORACLE_H

#include <math.h>

#include "findings.h"
#include "test_minifloat.h"

__extension__ typedef _Float128 quad;

enum { ALL = 65536, SAMPLES = 16000 }; /* numbers of a format; random arguments of a test */

static const struct format {
    const char *name;
    int fraction_bits, infinity, bias;
} formats[FORMATS] = {{"half", 10, 0x7c00, 15}, {"bfloat16", 7, 0x7f80, 127}};

/* The value of the bits, by the definition of the format. Infinity has the value that would follow the largest number. */
static inline double value(const struct format *f, uint16_t bits) {
    int magnitude = bits & 0x7fff, exponent = magnitude >> f->fraction_bits;
    int fraction = magnitude & ((1 << f->fraction_bits) - 1);
    if (exponent > 0) fraction += 1 << f->fraction_bits;
    double size = ldexp(fraction, (exponent > 0 ? exponent : 1) - f->bias - f->fraction_bits);
    return bits & 0x8000 ? -size : size;
}

static inline bool is_nan(const struct format *f, uint16_t bits) {
    return (bits & 0x7fff) > f->infinity;
}

static inline double widened(const struct format *f, uint16_t bits) {
    if (is_nan(f, bits)) return NAN;
    if ((bits & 0x7fff) == f->infinity) return bits & 0x8000 ? -INFINITY : INFINITY;
    return value(f, bits);
}

/* The rounding of exact + rest, where |rest| is far smaller than the last bit of `exact`. */
static inline uint16_t rounded(const struct format *f, quad exact, double rest, int rounding, bool negative_zero) {
    if (exact != exact) return 0x7fff;
    bool negative = exact < 0 || (exact == 0 && (rest < 0 || (rest == 0 && negative_zero)));
    quad size = negative ? -exact : exact;
    if (negative) rest = -rest;
    uint16_t sign = negative ? 0x8000 : 0;
    if (size > 0 && size + size == size) return (uint16_t)(sign | f->infinity);
    int low = 0, high = f->infinity; /* value(low) <= size, and the next one is above or equal */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        quad v = value(f, (uint16_t)middle);
        if (v < size || (v == size && rest >= 0))
            low = middle;
        else
            high = middle;
    }
    quad below = value(f, (uint16_t)low), above = value(f, (uint16_t)high);
    if (high == f->infinity && size >= above) low = high; /* beyond the largest number and its would-be successor */
    bool is_exact = size == below && rest == 0;
    bool up;
    switch (rounding) {
        case ROUND_ZERO: up = false; break;
        case ROUND_UP: up = !is_exact && !negative; break;
        case ROUND_DOWN: up = !is_exact && negative; break;
        default: {
            quad middle = (below + above) / 2;
            up = size > middle || (size == middle && (rest > 0 || (rest == 0 && (low & 1))));
        }
    }
    if (low == f->infinity)
        low = f->infinity - 1,
        up = rounding == ROUND_NEAREST || (rounding != ROUND_ZERO && negative == (rounding == ROUND_DOWN));
    return (uint16_t)(sign | (up ? low + 1 : low));
}

static inline uint16_t nearest(const struct format *f, double exact) {
    return rounded(f, exact, 0, ROUND_NEAREST, signbit(exact));
}

static uint32_t state = 1;
static inline uint32_t next_random(void) {
    state = state * 1664525u + 1013904223u;
    return state ^ state >> 15;
}

/* Numbers of all sizes, and around the ties of the format. */
static inline float sample_float(const struct format *f, int i) {
    uint32_t bits = next_random();
    float x;
    memcpy(&x, &bits, sizeof x);
    if (i % 3 == 0) {
        uint16_t near = (uint16_t)next_random();
        double a = value(f, near), b = value(f, near + 1);
        x = (float)((a + b) / 2);
        if (i % 2) x = nextafterf(x, i % 4 == 1 ? INFINITY : -INFINITY);
    } else if (i % 3 == 1) {
        x = (float)ldexp(x > 0 ? 1.0 + (bits & 0xffff) * 0x1p-17 : -1.5, (int)(bits >> 20 & 63) - 32);
    }
    return x;
}

#define EACH_FORMAT(which, f)                     \
    for (int which = 0; which < FORMATS; which++) \
        for (const struct format *f = &formats[which]; f; f = NULL)

#endif

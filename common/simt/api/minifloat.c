/* minifloat.c — half precision (5 exponent bits, 10 fraction bits) and bfloat16 (8, 7) in software, rounded exactly.
 *
 * Sums, differences, products and quotients are formed in double and rounded to the small format: double has more than
 * twice as many bits plus two, so rounding twice equals rounding once (Figueroa 1995); products are exact. The
 * fused multiply-add rounds its sum to odd in double first, which keeps every tie a tie and nothing else.
 */
#include "../include/simt/minifloat.h"

#include <math.h>
#include <string.h>

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023, CANONICAL_NAN = 0x7fff };

static uint64_t bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Does removing `rest` round the magnitude up? `half` is half a unit of the last kept place. */
static bool rounds_up(uint64_t kept, uint64_t rest, uint64_t half, bool negative, int rounding) {
    switch (rounding) {
        case SIMT_ROUND_ZERO: return false;
        case SIMT_ROUND_UP: return rest != 0 && !negative;
        case SIMT_ROUND_DOWN: return rest != 0 && negative;
        default: return rest > half || (rest == half && (kept & 1));
    }
}

static inline uint16_t narrow(double x, int exponent_bits, int fraction_bits, int rounding) {
    uint64_t bits = bits_of_double(x);
    bool negative = bits >> 63;
    uint16_t sign = (uint16_t)(negative << 15);
    int exponent = (int)(bits >> DOUBLE_FRACTION & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << DOUBLE_FRACTION) - 1);
    uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
    if (exponent == 0x7ff) { return fraction != 0 ? CANONICAL_NAN : sign | infinity; }
    if (exponent == 0) {
        exponent =
            1; /* a double below the normal range is far below the small format's: it only matters that it is nonzero */
    } else {
        fraction |= UINT64_C(1) << DOUBLE_FRACTION;
    }
    /* The last kept bit has the weight of the last bit of the result. */
    int bias = (1 << (exponent_bits - 1)) - 1, small = exponent - DOUBLE_BIAS + bias;
    int cut = DOUBLE_FRACTION - fraction_bits + (small < 1 ? 1 - small : 0);
    if (cut > 62) { cut = 62; /* the value is below half of the least number */ }
    uint64_t kept = fraction >> cut, rest = fraction & ((UINT64_C(1) << cut) - 1);
    kept += rounds_up(kept, rest, UINT64_C(1) << (cut - 1), negative, rounding);
    /* The implicit bit adds 1 to the exponent, as a carry does: both are intended. */
    uint64_t result = small < 1 ? kept : kept + ((uint64_t)(small - 1) << fraction_bits);
    if (result >= infinity) {
        bool to_infinity = rounding == SIMT_ROUND_NEAREST || rounding == (negative ? SIMT_ROUND_DOWN : SIMT_ROUND_UP);
        return sign | (uint16_t)(to_infinity ? infinity : infinity - 1);
    }
    return sign | (uint16_t)result;
}

static inline float widen_half(uint16_t x) {
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = x & 0x7fff, bits;
    if (magnitude >= 0x7c00) {
        bits = sign | 0x7f800000 | (magnitude & 0x3ff) << 13;
    } else if (magnitude >= 0x400) {
        bits = sign | ((magnitude << 13) + (112u << 23));
    } else {
        float small = (float)magnitude * 0x1p-24f;
        memcpy(&bits, &small, sizeof bits);
        bits |= sign;
    }
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static inline float widen_bfloat(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* The most frequent conversion, float to nearest even: `narrow` is several times as slow. */
static inline uint16_t half_of_float(float x) {
    uint32_t bits = bits_of_float(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) { return CANONICAL_NAN; }
    if (magnitude >= 0x477ff000) { return (uint16_t)(sign | 0x7c00); } /* 65520 and up */
    if (magnitude < 0x38800000) { /* units of 2^-24, as a float has at 0.5: an addition does the rounding */
        return (uint16_t)(sign | (bits_of_float(fabsf(x) + 0.5f) - 0x3f000000));
    }
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13);
}

static inline uint16_t bfloat_of_float(float x) {
    uint32_t bits = bits_of_float(x);
    if ((bits & 0x7fffffff) > 0x7f800000) { return CANONICAL_NAN; }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* a * b + c, rounded to odd: an inexact sum ends in a 1. */
static double fma_to_odd(double a, double b, double c) {
    double product = a * b; /* exact */
    double sum = product + c;
    if (!isfinite(sum)) { return sum; }
    double c_part = sum - product;
    double error = (product - (sum - c_part)) + (c - c_part);
    uint64_t bits = bits_of_double(sum);
    if (error != 0 && (bits & 1) == 0) { bits += (error > 0) == (sum > 0) ? 1 : -UINT64_C(1); }
    return double_of_bits(bits);
}

/* The integer in double, an inexact one rounded to odd. */
static double odd_of_u64(unsigned long long x) {
    int cut = x >> 53 != 0 ? 64 - 53 - __builtin_clzll(x) : 0;
    unsigned long long kept = x >> cut;
    return ldexp((double)(kept | (kept << cut != x)), cut);
}

static bool is_nan(uint16_t x, int infinity) {
    return (x & 0x7fff) > infinity;
}

/* A number with the order of the values. */
static int order(uint16_t x) {
    return x & 0x8000 ? -(int)(x & 0x7fff) - 1 : x;
}

#define OPERATIONS(format, exponent_bits, fraction_bits, infinity)                                                   \
    float simt_##format##_to_float(uint16_t x) {                                                                     \
        return widen_##format(x);                                                                                    \
    }                                                                                                                \
    uint16_t simt_##format##_of_double(double x, int rounding) {                                                     \
        return narrow(x, exponent_bits, fraction_bits, rounding);                                                    \
    }                                                                                                                \
    uint16_t simt_##format##_of_float(float x) {                                                                     \
        return format##_of_float(x);                                                                                 \
    }                                                                                                                \
    uint16_t simt_##format##_of_u64(unsigned long long x, int rounding) {                                            \
        return narrow(odd_of_u64(x), exponent_bits, fraction_bits, rounding);                                        \
    }                                                                                                                \
    uint16_t simt_##format##_of_i64(long long x, int rounding) {                                                     \
        double size = odd_of_u64(x < 0 ? 0 - (unsigned long long)x : (unsigned long long)x);                         \
        return narrow(x < 0 ? -size : size, exponent_bits, fraction_bits, rounding);                                 \
    }                                                                                                                \
    uint16_t simt_##format##_add(uint16_t a, uint16_t b) {                                                           \
        return simt_##format##_of_double((double)widen_##format(a) + (double)widen_##format(b), SIMT_ROUND_NEAREST); \
    }                                                                                                                \
    uint16_t simt_##format##_sub(uint16_t a, uint16_t b) {                                                           \
        return simt_##format##_of_double((double)widen_##format(a) - (double)widen_##format(b), SIMT_ROUND_NEAREST); \
    }                                                                                                                \
    uint16_t simt_##format##_mul(uint16_t a, uint16_t b) {                                                           \
        return simt_##format##_of_double((double)widen_##format(a) * (double)widen_##format(b), SIMT_ROUND_NEAREST); \
    }                                                                                                                \
    uint16_t simt_##format##_div(uint16_t a, uint16_t b) {                                                           \
        return simt_##format##_of_double((double)widen_##format(a) / (double)widen_##format(b), SIMT_ROUND_NEAREST); \
    }                                                                                                                \
    uint16_t simt_##format##_fma(uint16_t a, uint16_t b, uint16_t c) {                                               \
        return simt_##format##_of_double(fma_to_odd(widen_##format(a), widen_##format(b), widen_##format(c)),        \
                                         SIMT_ROUND_NEAREST);                                                        \
    }                                                                                                                \
    uint16_t simt_##format##_min(uint16_t a, uint16_t b) {                                                           \
        if (is_nan(a, infinity) || is_nan(b, infinity)) {                                                            \
            return is_nan(a, infinity) ? is_nan(b, infinity) ? CANONICAL_NAN : b : a;                                \
        }                                                                                                            \
        return order(a) < order(b) ? a : b;                                                                          \
    }                                                                                                                \
    uint16_t simt_##format##_max(uint16_t a, uint16_t b) {                                                           \
        if (is_nan(a, infinity) || is_nan(b, infinity)) {                                                            \
            return is_nan(a, infinity) ? is_nan(b, infinity) ? CANONICAL_NAN : b : a;                                \
        }                                                                                                            \
        return order(a) > order(b) ? a : b;                                                                          \
    }

OPERATIONS(half, 5, 10, 0x7c00)
OPERATIONS(bfloat, 8, 7, 0x7f80)

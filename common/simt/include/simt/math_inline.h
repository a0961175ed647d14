/* math_inline.h — expf, __expf, fmaxf and fminf, for kernels and for the host code of a CUDA source.
 *
 * Calling the C library's makes a softmax take 1.4 to 1.6 times as long in the fast build. These are inlined. In the
 * checked build, where a branch and a load are events (checks/hooks_tsan.c), they make none: g++ does not instrument loads from
 * a constant.
 */
#ifndef SIMT_MATH_INLINE_H
#define SIMT_MATH_INLINE_H

#include <math.h>

#include "boundary.h"

namespace simt {

/* 2^(i/32) as bits, less i/32 of an exponent's unit, so that adding a count of 32nds gives the power's bits. */
struct powers_of_two {
    unsigned long long bits[32];
    constexpr powers_of_two() : bits() {
        for (unsigned long long i = 0; i < 32; i++) {
            bits[i] = __builtin_bit_cast(unsigned long long, __builtin_exp2(static_cast<double>(i) / 32)) - (i << 47);
        }
    }
};
#ifdef __clang__ /* an editor's: it cannot evaluate exp2 */
static const powers_of_two exponential_table;
#else
static constexpr powers_of_two exponential_table;
#endif

/* Computed in double and rounded once: off by 0.5018 ulp at most over all floats, where CUDA documents 1.
 * e^x = 2^(whole/32) * 2^(rest/32), with x * log2(e) * 32 = whole + rest and |rest| <= 1/2. */
SIMT_INLINE float exponential(float x) {
    /* Beyond 128 all is infinity or 0, and so it is at 128 and -128; a NaN stays. In C these would be branches. */
    __asm__("minss %1, %0" : "=x"(x) : "x"(x), "0"(128.0f));
    __asm__("maxss %1, %0" : "=x"(x) : "x"(x), "0"(-128.0f));
    double scaled = static_cast<double>(x) * 0x1.71547652b82fep5;
    double shifter = 0x1.8p52, shifted = scaled + shifter; /* its last bits: the nearest whole number */
    double rest = scaled - (shifted - shifter);
    unsigned long long whole = __builtin_bit_cast(unsigned long long, shifted);
    double power = __builtin_bit_cast(double, exponential_table.bits[whole & 31] + (whole << 47));
    /* A polynomial for 2^(rest/32), exact at 0, elsewhere off by 1.1e-10 of it. */
    double polynomial =
        (1.0 + rest * 0x1.62e42ff052625p-6) + rest * rest * (0x1.ebfcebdc4fad0p-13 + rest * 0x1.c6b00a5e06248p-20);
    return static_cast<float>(polynomial * power);
}

/* The first number where the mask's bits are set, otherwise the second. */
SIMT_INLINE float selected(float mask, float set, float clear) {
    __asm__("andps %1, %0" : "+x"(set) : "x"(mask));
    __asm__("andnps %1, %0" : "+x"(mask) : "x"(clear));
    __asm__("orps %1, %0" : "+x"(set) : "x"(mask));
    return set;
}

/* maxss and minss return the second operand if either is a NaN. If the second is the NaN, the result is the first. */
SIMT_INLINE float larger(float a, float b) {
    float result = a, unordered = b;
    __asm__("maxss %1, %0" : "+x"(result) : "x"(b));
    __asm__("cmpunordss %0, %0" : "+x"(unordered));
    return selected(unordered, a, result);
}
SIMT_INLINE float smaller(float a, float b) {
    float result = a, unordered = b;
    __asm__("minss %1, %0" : "+x"(result) : "x"(b));
    __asm__("cmpunordss %0, %0" : "+x"(unordered));
    return selected(unordered, a, result);
}

} // namespace simt

/* The C library declares these names. A gnu_inline body is used for calls only; an address is that of the library's function. */
extern "C" {
extern inline __attribute__((gnu_inline, always_inline)) float expf(float x) noexcept {
    return simt::exponential(x);
}
extern inline __attribute__((gnu_inline, always_inline)) float __expf(float x) noexcept {
    return simt::exponential(x);
}
extern inline __attribute__((gnu_inline, always_inline)) float fmaxf(float a, float b) noexcept {
    return simt::larger(a, b);
}
extern inline __attribute__((gnu_inline, always_inline)) float fminf(float a, float b) noexcept {
    return simt::smaller(a, b);
}
}

#endif

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

/* In C, limited(x, least, most), larger(a, b) and smaller(a, b) would be branches. The last two return the number if the
 * other operand is a NaN. */
#if defined(__aarch64__)
#include "arch/aarch64.h"
#else
#include "arch/x86_64.h"
#endif

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
    x = limited(x, -128, 128); /* beyond 128 all is infinity or 0, and so it is at 128 and -128; a NaN stays */
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

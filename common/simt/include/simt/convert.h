/* convert.h — conversions with a rounding mode, and reinterpretation of bits.
 *
 * Floating point to integer clamps to the range. A NaN gives 0 from float to a 32-bit integer, otherwise the integer's
 * top bit alone (the PTX manual's rule for cvt). Rounding: _rn nearest even, _rz to zero, _ru up, _rd down.
 */
#ifndef SIMT_CONVERT_H
#define SIMT_CONVERT_H

#include <math.h>

#include "boundary.h"
#include "rounding.h"
#include "vector.h"

namespace simt {

template <class To, class From> SIMT_INLINE To to_integer(From rounded) {
    constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(0);
    constexpr int bits = 8 * sizeof(To);
    constexpr To top_bit = static_cast<To>(1ull << (bits - 1));
    constexpr To least = is_signed ? top_bit : 0, most = static_cast<To>(~least);
    if (rounded != rounded) { return sizeof(From) == 4 && sizeof(To) <= 4 ? 0 : top_bit; }
    constexpr From limit = static_cast<From>(static_cast<unsigned long long>(1) << (bits - 2)) * (is_signed ? 2 : 4);
    if (rounded >= limit) { return most; }
    if (rounded < (is_signed ? -limit : From(0))) { return least; }
    return static_cast<To>(rounded);
}

} // namespace simt

#define SIMT_FLOAT_TO_INTEGER(from, From, to, To, suffix)  \
    SIMT_INLINE To __##from##2##to##_rn(From x) {          \
        return simt::to_integer<To>(nearbyint##suffix(x)); \
    }                                                      \
    SIMT_INLINE To __##from##2##to##_rz(From x) {          \
        return simt::to_integer<To>(trunc##suffix(x));     \
    }                                                      \
    SIMT_INLINE To __##from##2##to##_ru(From x) {          \
        return simt::to_integer<To>(ceil##suffix(x));      \
    }                                                      \
    SIMT_INLINE To __##from##2##to##_rd(From x) {          \
        return simt::to_integer<To>(floor##suffix(x));     \
    }

SIMT_FLOAT_TO_INTEGER(float, float, int, int, f)
SIMT_FLOAT_TO_INTEGER(float, float, uint, unsigned int, f)
SIMT_FLOAT_TO_INTEGER(float, float, ll, long long, f)
SIMT_FLOAT_TO_INTEGER(float, float, ull, unsigned long long, f)
SIMT_FLOAT_TO_INTEGER(double, double, int, int, )
SIMT_FLOAT_TO_INTEGER(double, double, uint, unsigned int, )
SIMT_FLOAT_TO_INTEGER(double, double, ll, long long, )
SIMT_FLOAT_TO_INTEGER(double, double, ull, unsigned long long, )
#undef SIMT_FLOAT_TO_INTEGER

/* Narrowing with a rounding: api/math.c. */
#define SIMT_NARROW(name, From, To, function)   \
    SIMT_INLINE To name##_rn(From x) {          \
        return function(x, SIMT_ROUND_NEAREST); \
    }                                           \
    SIMT_INLINE To name##_rz(From x) {          \
        return function(x, SIMT_ROUND_ZERO);    \
    }                                           \
    SIMT_INLINE To name##_ru(From x) {          \
        return function(x, SIMT_ROUND_UP);      \
    }                                           \
    SIMT_INLINE To name##_rd(From x) {          \
        return function(x, SIMT_ROUND_DOWN);    \
    }
SIMT_NARROW(__double2float, double, float, simt_float_of_double)
SIMT_NARROW(__int2float, int, float, simt_float_of_i64)
SIMT_NARROW(__uint2float, unsigned int, float, simt_float_of_u64)
SIMT_NARROW(__ll2float, long long, float, simt_float_of_i64)
SIMT_NARROW(__ull2float, unsigned long long, float, simt_float_of_u64)
SIMT_NARROW(__ll2double, long long, double, simt_double_of_i64)
SIMT_NARROW(__ull2double, unsigned long long, double, simt_double_of_u64)
#undef SIMT_NARROW
SIMT_INLINE double __int2double_rn(int x) {
    return x;
}
SIMT_INLINE double __uint2double_rn(unsigned int x) {
    return x;
}

SIMT_INLINE int __float_as_int(float x) {
    return __builtin_bit_cast(int, x);
}
SIMT_INLINE unsigned int __float_as_uint(float x) {
    return __builtin_bit_cast(unsigned int, x);
}
SIMT_INLINE float __int_as_float(int x) {
    return __builtin_bit_cast(float, x);
}
SIMT_INLINE float __uint_as_float(unsigned int x) {
    return __builtin_bit_cast(float, x);
}
SIMT_INLINE long long __double_as_longlong(double x) {
    return __builtin_bit_cast(long long, x);
}
SIMT_INLINE double __longlong_as_double(long long x) {
    return __builtin_bit_cast(double, x);
}
SIMT_INLINE int __double2hiint(double x) {
    return static_cast<int>(__builtin_bit_cast(unsigned long long, x) >> 32);
}
SIMT_INLINE int __double2loint(double x) {
    return static_cast<int>(__builtin_bit_cast(unsigned long long, x));
}
SIMT_INLINE double __hiloint2double(int high, int low) {
    return __builtin_bit_cast(double, static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                          static_cast<unsigned>(low));
}

#endif

/* minifloat_convert.h — named conversions of a small format, its functions, and its warp and memory intrinsics.
 *
 * Included like minifloat_type.h, with MINI_NAME(a, b) = a##half##b and MINI_TWICE(a, b, c) = a##half##b##half##c.
 */

SIMT_INLINE MINI MINI_NAME(__float2, )(float x) {
    return MINI(x);
}
SIMT_INLINE MINI MINI_NAME(__double2, )(double x) {
    return MINI(x);
}
SIMT_INLINE float MINI_NAME(__, 2float)(MINI x) {
    return simt::value_of(x);
}

#define MINI_FROM(name, T, call)                                 \
    SIMT_INLINE MINI MINI_NAME(name, _rn)(T x) {                 \
        return MINI_RAW{MINI_CALL(call)(x, SIMT_ROUND_NEAREST)}; \
    }                                                            \
    SIMT_INLINE MINI MINI_NAME(name, _rz)(T x) {                 \
        return MINI_RAW{MINI_CALL(call)(x, SIMT_ROUND_ZERO)};    \
    }                                                            \
    SIMT_INLINE MINI MINI_NAME(name, _ru)(T x) {                 \
        return MINI_RAW{MINI_CALL(call)(x, SIMT_ROUND_UP)};      \
    }                                                            \
    SIMT_INLINE MINI MINI_NAME(name, _rd)(T x) {                 \
        return MINI_RAW{MINI_CALL(call)(x, SIMT_ROUND_DOWN)};    \
    }
MINI_FROM(__float2, float, of_double)
MINI_FROM(__int2, int, of_i64)
MINI_FROM(__uint2, unsigned int, of_u64)
MINI_FROM(__short2, short, of_i64)
MINI_FROM(__ushort2, unsigned short, of_u64)
MINI_FROM(__ll2, long long, of_i64)
MINI_FROM(__ull2, unsigned long long, of_u64)
#undef MINI_FROM

#define MINI_TO(to, T)                                             \
    SIMT_INLINE T MINI_NAME(__, 2##to##_rn)(MINI x) {              \
        return simt::to_integer<T>(nearbyintf(simt::value_of(x))); \
    }                                                              \
    SIMT_INLINE T MINI_NAME(__, 2##to##_rz)(MINI x) {              \
        return simt::to_integer<T>(truncf(simt::value_of(x)));     \
    }                                                              \
    SIMT_INLINE T MINI_NAME(__, 2##to##_ru)(MINI x) {              \
        return simt::to_integer<T>(ceilf(simt::value_of(x)));      \
    }                                                              \
    SIMT_INLINE T MINI_NAME(__, 2##to##_rd)(MINI x) {              \
        return simt::to_integer<T>(floorf(simt::value_of(x)));     \
    }
MINI_TO(int, int)
MINI_TO(uint, unsigned int)
MINI_TO(short, short)
MINI_TO(ushort, unsigned short)
MINI_TO(ll, long long)
MINI_TO(ull, unsigned long long)
#undef MINI_TO
SIMT_INLINE signed char MINI_NAME(__, 2char_rz)(MINI x) {
    return static_cast<signed char>(x);
}
SIMT_INLINE unsigned char MINI_NAME(__, 2uchar_rz)(MINI x) {
    return static_cast<unsigned char>(x);
}

SIMT_INLINE short MINI_NAME(__, _as_short)(MINI x) {
    return static_cast<short>(x.__x);
}
SIMT_INLINE unsigned short MINI_NAME(__, _as_ushort)(MINI x) {
    return x.__x;
}
SIMT_INLINE MINI MINI_NAME(__short_as_, )(short bits) {
    return MINI_RAW{static_cast<unsigned short>(bits)};
}
SIMT_INLINE MINI MINI_NAME(__ushort_as_, )(unsigned short bits) {
    return MINI_RAW{bits};
}

/* Pairs: x is the low one. */
SIMT_INLINE MINI2 MINI_NAME(__float2, 2_rn)(float x) {
    return MINI2(MINI(x), MINI(x));
}
SIMT_INLINE MINI2 MINI_NAME(__floats2, 2_rn)(float x, float y) {
    return MINI2(MINI(x), MINI(y));
}
SIMT_INLINE MINI2 MINI_NAME(__float22, 2_rn)(float2 v) {
    return MINI2(MINI(v.x), MINI(v.y));
}
SIMT_INLINE float2 MINI_NAME(__, 22float2)(MINI2 v) {
    return float2{simt::value_of(v.x), simt::value_of(v.y)};
}
SIMT_INLINE MINI2 MINI_TWICE(__, 2, 2)(MINI x) {
    return MINI2(x, x);
}
SIMT_INLINE MINI2 MINI_NAME(__halves2, 2)(MINI x, MINI y) {
    return MINI2(x, y);
}
SIMT_INLINE MINI2 MINI_NAME(make_, 2)(MINI x, MINI y) {
    return MINI2(x, y);
}
SIMT_INLINE MINI MINI_NAME(__low2, )(MINI2 v) {
    return v.x;
}
SIMT_INLINE MINI MINI_NAME(__high2, )(MINI2 v) {
    return v.y;
}
SIMT_INLINE float __low2float(MINI2 v) {
    return simt::value_of(v.x);
}
SIMT_INLINE float __high2float(MINI2 v) {
    return simt::value_of(v.y);
}
SIMT_INLINE MINI2 MINI_NAME(__low2, 2)(MINI2 v) {
    return MINI2(v.x, v.x);
}
SIMT_INLINE MINI2 MINI_NAME(__high2, 2)(MINI2 v) {
    return MINI2(v.y, v.y);
}
SIMT_INLINE MINI2 MINI_NAME(__lows2, 2)(MINI2 a, MINI2 b) {
    return MINI2(a.x, b.x);
}
SIMT_INLINE MINI2 MINI_NAME(__highs2, 2)(MINI2 a, MINI2 b) {
    return MINI2(a.y, b.y);
}
SIMT_INLINE MINI2 __lowhigh2highlow(MINI2 v) {
    return MINI2(v.y, v.x);
}

/* Functions: the C library's in double, rounded once. */
#define MINI_FUNCTION(name, expression)               \
    SIMT_INLINE MINI h##name(MINI a) {                \
        double x = simt::value_of(a);                 \
        return MINI(static_cast<double>(expression)); \
    }                                                 \
    SIMT_INLINE MINI2 h2##name(MINI2 v) {             \
        return MINI2(h##name(v.x), h##name(v.y));     \
    }
MINI_FUNCTION(sqrt, sqrt(x))
MINI_FUNCTION(rsqrt, 1.0 / sqrt(x))
MINI_FUNCTION(rcp, 1.0 / x)
MINI_FUNCTION(exp, exp(x))
MINI_FUNCTION(exp2, exp2(x))
MINI_FUNCTION(exp10, exp10(x))
MINI_FUNCTION(log, log(x))
MINI_FUNCTION(log2, log2(x))
MINI_FUNCTION(log10, log10(x))
MINI_FUNCTION(sin, sin(x))
MINI_FUNCTION(cos, cos(x))
MINI_FUNCTION(tanh, tanh(x))
MINI_FUNCTION(tanh_approx, tanh(x))
MINI_FUNCTION(ceil, ceil(x))
MINI_FUNCTION(floor, floor(x))
MINI_FUNCTION(trunc, trunc(x))
MINI_FUNCTION(rint, nearbyint(x))
#undef MINI_FUNCTION

SIMT_SHUFFLES(MINI)
SIMT_SHUFFLES(MINI2)
SIMT_CACHE(MINI)
SIMT_CACHE(MINI2)
SIMT_ATOMIC(atomicAdd, MINI, ADD, MINI_ATOMIC)
SIMT_ATOMIC(atomicAdd, MINI2, ADD, MINI2_ATOMIC)

#undef MINI
#undef MINI2
#undef MINI_RAW
#undef MINI2_RAW
#undef MINI_CALL
#undef MINI_NAME
#undef MINI_TWICE
#undef MINI_ATOMIC
#undef MINI2_ATOMIC

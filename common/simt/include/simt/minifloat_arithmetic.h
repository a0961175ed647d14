/* minifloat_arithmetic.h — arithmetic, comparison and selection of a small format and its pair; see minifloat_type.h. */

#define MINI_BINARY(name, call)                         \
    SIMT_INLINE MINI name(MINI a, MINI b) {             \
        return MINI_RAW{MINI_CALL(call)(a.__x, b.__x)}; \
    }

MINI_BINARY(__hadd, add)
MINI_BINARY(__hsub, sub)
MINI_BINARY(__hmul, mul)
MINI_BINARY(__hdiv, div)
MINI_BINARY(__hadd_rn, add)
MINI_BINARY(__hsub_rn, sub)
MINI_BINARY(__hmul_rn, mul)
MINI_BINARY(__hmin, min)
MINI_BINARY(__hmax, max)
#undef MINI_BINARY

SIMT_INLINE MINI __hfma(MINI a, MINI b, MINI c) {
    return MINI_RAW{MINI_CALL(fma)(a.__x, b.__x, c.__x)};
}
SIMT_INLINE MINI __hneg(MINI a) {
    return MINI_RAW{static_cast<unsigned short>(a.__x ^ 0x8000)};
}
SIMT_INLINE MINI __habs(MINI a) {
    return MINI_RAW{static_cast<unsigned short>(a.__x & 0x7fff)};
}

namespace simt {
SIMT_INLINE float value_of(MINI a) {
    return MINI_CALL(to_float)(a.__x);
}
/* To [0, 1], NaN to +0; and to [0, inf), NaN kept. */
SIMT_INLINE MINI saturate(MINI a) {
    float value = value_of(a);
    return !(value > 0.0f) ? MINI(MINI_RAW{0}) : value > 1.0f ? MINI(1.0f) : a;
}
SIMT_INLINE MINI relu(MINI a) {
    return value_of(a) < 0.0f || a.__x == 0x8000 ? MINI(MINI_RAW{0}) : a;
}
SIMT_INLINE bool is_nan(MINI a) {
    return value_of(a) != value_of(a);
}
} // namespace simt

SIMT_INLINE MINI __hadd_sat(MINI a, MINI b) {
    return simt::saturate(__hadd(a, b));
}
SIMT_INLINE MINI __hsub_sat(MINI a, MINI b) {
    return simt::saturate(__hsub(a, b));
}
SIMT_INLINE MINI __hmul_sat(MINI a, MINI b) {
    return simt::saturate(__hmul(a, b));
}
SIMT_INLINE MINI __hfma_sat(MINI a, MINI b, MINI c) {
    return simt::saturate(__hfma(a, b, c));
}
SIMT_INLINE MINI __hfma_relu(MINI a, MINI b, MINI c) {
    return simt::relu(__hfma(a, b, c));
}
SIMT_INLINE MINI __hmin_nan(MINI a, MINI b) {
    return simt::is_nan(a) || simt::is_nan(b) ? MINI(MINI_RAW{0x7fff}) : __hmin(a, b);
}
SIMT_INLINE MINI __hmax_nan(MINI a, MINI b) {
    return simt::is_nan(a) || simt::is_nan(b) ? MINI(MINI_RAW{0x7fff}) : __hmax(a, b);
}

/* Comparisons: with a NaN the plain ones are false (__hne too), the ones in u are true. */
#define MINI_COMPARE(name, expression)                             \
    SIMT_INLINE bool __h##name(MINI left, MINI right) {            \
        float a = simt::value_of(left), b = simt::value_of(right); \
        return expression;                                         \
    }
MINI_COMPARE(eq, a == b)
MINI_COMPARE(ne, a<b || a> b)
MINI_COMPARE(lt, a < b)
MINI_COMPARE(le, a <= b)
MINI_COMPARE(gt, a > b)
MINI_COMPARE(ge, a >= b)
MINI_COMPARE(equ, !(a < b || a > b))
MINI_COMPARE(neu, a != b)
MINI_COMPARE(ltu, !(a >= b))
MINI_COMPARE(leu, !(a > b))
MINI_COMPARE(gtu, !(a <= b))
MINI_COMPARE(geu, !(a < b))
#undef MINI_COMPARE

SIMT_INLINE bool __hisnan(MINI a) {
    return simt::is_nan(a);
}
SIMT_INLINE int __hisinf(MINI a) {
    float value = simt::value_of(a);
    return value == INFINITY ? 1 : value == -INFINITY ? -1 : 0;
}

/* ---- the pair ---- */

#define MINI_BINARY2(name, one)                     \
    SIMT_INLINE MINI2 name(MINI2 a, MINI2 b) {      \
        return MINI2(one(a.x, b.x), one(a.y, b.y)); \
    }
#define MINI_TERNARY2(name, one)                              \
    SIMT_INLINE MINI2 name(MINI2 a, MINI2 b, MINI2 c) {       \
        return MINI2(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); \
    }
MINI_BINARY2(__hadd2, __hadd)
MINI_BINARY2(__hsub2, __hsub)
MINI_BINARY2(__hmul2, __hmul)
MINI_BINARY2(__h2div, __hdiv)
MINI_BINARY2(__hadd2_rn, __hadd)
MINI_BINARY2(__hsub2_rn, __hsub)
MINI_BINARY2(__hmul2_rn, __hmul)
MINI_BINARY2(__hadd2_sat, __hadd_sat)
MINI_BINARY2(__hsub2_sat, __hsub_sat)
MINI_BINARY2(__hmul2_sat, __hmul_sat)
MINI_BINARY2(__hmin2, __hmin)
MINI_BINARY2(__hmax2, __hmax)
MINI_BINARY2(__hmin2_nan, __hmin_nan)
MINI_BINARY2(__hmax2_nan, __hmax_nan)
MINI_TERNARY2(__hfma2, __hfma)
MINI_TERNARY2(__hfma2_sat, __hfma_sat)
MINI_TERNARY2(__hfma2_relu, __hfma_relu)
#undef MINI_TERNARY2
#undef MINI_BINARY2

SIMT_INLINE MINI2 __hneg2(MINI2 a) {
    return MINI2(__hneg(a.x), __hneg(a.y));
}
SIMT_INLINE MINI2 __habs2(MINI2 a) {
    return MINI2(__habs(a.x), __habs(a.y));
}
SIMT_INLINE MINI2 __hisnan2(MINI2 a) {
    return MINI2(MINI(simt::is_nan(a.x) ? 1.0f : 0.0f), MINI(simt::is_nan(a.y) ? 1.0f : 0.0f));
}
/* Complex: a * b + c, each part two fused multiply-adds. */
SIMT_INLINE MINI2 __hcmadd(MINI2 a, MINI2 b, MINI2 c) {
    MINI real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
    return MINI2(__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary));
}

/* For each comparison: 1.0 or 0.0, a mask of all ones or none, and whether both hold. */
#define MINI_COMPARE2(name)                                                                             \
    SIMT_INLINE MINI2 __h##name##2(MINI2 a, MINI2 b) {                                                  \
        return MINI2(MINI(__h##name(a.x, b.x) ? 1.0f : 0.0f), MINI(__h##name(a.y, b.y) ? 1.0f : 0.0f)); \
    }                                                                                                   \
    SIMT_INLINE unsigned __h##name##2_mask(MINI2 a, MINI2 b) {                                          \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);           \
    }                                                                                                   \
    SIMT_INLINE bool __hb##name##2(MINI2 a, MINI2 b) {                                                  \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                              \
    }
MINI_COMPARE2(eq)
MINI_COMPARE2(ne)
MINI_COMPARE2(lt)
MINI_COMPARE2(le)
MINI_COMPARE2(gt)
MINI_COMPARE2(ge)
MINI_COMPARE2(equ)
MINI_COMPARE2(neu)
MINI_COMPARE2(ltu)
MINI_COMPARE2(leu)
MINI_COMPARE2(gtu)
MINI_COMPARE2(geu)
#undef MINI_COMPARE2

/* ---- operators ---- */

#define MINI_OPERATORS(T, add, sub, mul, div, one)    \
    SIMT_INLINE T operator+(const T &a, const T &b) { \
        return add(a, b);                             \
    }                                                 \
    SIMT_INLINE T operator-(const T &a, const T &b) { \
        return sub(a, b);                             \
    }                                                 \
    SIMT_INLINE T operator*(const T &a, const T &b) { \
        return mul(a, b);                             \
    }                                                 \
    SIMT_INLINE T operator/(const T &a, const T &b) { \
        return div(a, b);                             \
    }                                                 \
    SIMT_INLINE T &operator+=(T &a, const T &b) {     \
        return a = add(a, b);                         \
    }                                                 \
    SIMT_INLINE T &operator-=(T &a, const T &b) {     \
        return a = sub(a, b);                         \
    }                                                 \
    SIMT_INLINE T &operator*=(T &a, const T &b) {     \
        return a = mul(a, b);                         \
    }                                                 \
    SIMT_INLINE T &operator/=(T &a, const T &b) {     \
        return a = div(a, b);                         \
    }                                                 \
    SIMT_INLINE T &operator++(T &a) {                 \
        return a = add(a, one);                       \
    }                                                 \
    SIMT_INLINE T &operator--(T &a) {                 \
        return a = sub(a, one);                       \
    }                                                 \
    SIMT_INLINE T operator++(T &a, int) {             \
        T before = a;                                 \
        a = add(a, one);                              \
        return before;                                \
    }                                                 \
    SIMT_INLINE T operator--(T &a, int) {             \
        T before = a;                                 \
        a = sub(a, one);                              \
        return before;                                \
    }                                                 \
    SIMT_INLINE T operator+(const T &a) {             \
        return a;                                     \
    }
MINI_OPERATORS(MINI, __hadd, __hsub, __hmul, __hdiv, MINI(1.0f))
MINI_OPERATORS(MINI2, __hadd2, __hsub2, __hmul2, __h2div, MINI2(MINI(1.0f), MINI(1.0f)))
#undef MINI_OPERATORS
SIMT_INLINE MINI operator-(const MINI &a) {
    return __hneg(a);
}
SIMT_INLINE MINI2 operator-(const MINI2 &a) {
    return __hneg2(a);
}

#define MINI_RELATION(sign, one, both)                               \
    SIMT_INLINE bool operator sign(const MINI &a, const MINI &b) {   \
        return one(a, b);                                            \
    }                                                                \
    SIMT_INLINE bool operator sign(const MINI2 &a, const MINI2 &b) { \
        return both(a, b);                                           \
    }
MINI_RELATION(==, __heq, __hbeq2)
MINI_RELATION(!=, __hneu, __hbneu2)
MINI_RELATION(<, __hlt, __hblt2)
MINI_RELATION(<=, __hle, __hble2)
MINI_RELATION(>, __hgt, __hbgt2)
MINI_RELATION(>=, __hge, __hbge2)
#undef MINI_RELATION

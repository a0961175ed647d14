/* vector.h — char1 … ulonglong4, float1 … double4, dim3 with CUDA's sizes and alignments, and make_*.
 *
 * They are aggregates, so that {0}, float4{a, b, c, d} and by-value kernel arguments work. Where CUDA has one access
 * for the whole vector, only operator= is user-defined: `p[i] = make_float4(…)` must be one 16-byte store; without it
 * gcc stores the members one by one.
 */
#ifndef SIMT_VECTOR_H
#define SIMT_VECTOR_H

#include "qualifiers.h"

#ifdef __cplusplus

namespace simt {
typedef unsigned short __attribute__((may_alias)) word2;
typedef unsigned int __attribute__((may_alias)) word4;
typedef unsigned long long __attribute__((may_alias)) word8;
typedef float __attribute__((vector_size(16), may_alias)) word16;
} // namespace simt

#define SIMT_ASSIGN(vector, word)                                                                      \
    __attribute__((always_inline)) inline vector &operator=(const vector &other) {                     \
        for (unsigned i = 0; i < sizeof(vector) / sizeof(simt::word); i++) {                           \
            reinterpret_cast<simt::word *>(this)[i] = reinterpret_cast<const simt::word *>(&other)[i]; \
        }                                                                                              \
        return *this;                                                                                  \
    }
#define SIMT_MAKE static inline constexpr __attribute__((always_inline, unused))

/* The copy constructor stays implicit on purpose. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#else
#define SIMT_ASSIGN(vector, word)
#define SIMT_MAKE static inline __attribute__((unused))
#endif

#define SIMT_VECTOR1(type, base, align2, word2, align4, word4) /* base1 … base4 of `type` */ \
    struct base##1 {                                                                           \
        type x;                                                                                \
    };                                                                                         \
    struct __attribute__((aligned(align2))) base##2 {                                          \
        type x, y;                                                                             \
        SIMT_ASSIGN(base##2, word2)                                                            \
    };                                                                                         \
    struct base##3 {                                                                           \
        type x, y, z;                                                                          \
    };                                                                                         \
    struct __attribute__((aligned(align4))) base##4 {                                          \
        type x, y, z, w;                                                                       \
        SIMT_ASSIGN(base##4, word4)                                                            \
    };                                                                                         \
    typedef struct base##1 base##1;                                                            \
    typedef struct base##2 base##2;                                                            \
    typedef struct base##3 base##3;                                                            \
    typedef struct base##4 base##4;                                                            \
    SIMT_MAKE base##1 make_##base##1(type x) {                                                 \
        base##1 v = {x};                                                                       \
        return v;                                                                              \
    }                                                                                          \
    SIMT_MAKE base##2 make_##base##2(type x, type y) {                                         \
        base##2 v = {x, y};                                                                    \
        return v;                                                                              \
    }                                                                                          \
    SIMT_MAKE base##3 make_##base##3(type x, type y, type z) {                                 \
        base##3 v = {x, y, z};                                                                 \
        return v;                                                                              \
    }                                                                                          \
    SIMT_MAKE base##4 make_##base##4(type x, type y, type z, type w) {                         \
        base##4 v = {x, y, z, w};                                                              \
        return v;                                                                              \
    }

SIMT_VECTOR1(signed char, char, 2, word2, 4, word4)
SIMT_VECTOR1(unsigned char, uchar, 2, word2, 4, word4)
SIMT_VECTOR1(short, short, 4, word4, 8, word8)
SIMT_VECTOR1(unsigned short, ushort, 4, word4, 8, word8)
SIMT_VECTOR1(int, int, 8, word8, 16, word16)
SIMT_VECTOR1(unsigned int, uint, 8, word8, 16, word16)
SIMT_VECTOR1(long, long, 16, word16, 16, word16)
SIMT_VECTOR1(unsigned long, ulong, 16, word16, 16, word16)
SIMT_VECTOR1(long long, longlong, 16, word16, 16, word16)
SIMT_VECTOR1(unsigned long long, ulonglong, 16, word16, 16, word16)
SIMT_VECTOR1(float, float, 8, word8, 16, word16)
SIMT_VECTOR1(double, double, 16, word16, 16, word16)
#undef SIMT_VECTOR1

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const {
        return uint3{x, y, z};
    }
#endif
};
typedef struct dim3 dim3;

#endif

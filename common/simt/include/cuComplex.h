/* cuComplex.h — complex numbers as pairs: cuFloatComplex is float2, cuDoubleComplex is double2. */
#ifndef CU_COMPLEX_H
#define CU_COMPLEX_H

#include <math.h>

#include "simt/vector.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* One set for each precision: T complex, R real, `f` the suffix of the functions. Division is Smith's: it scales by the
 * larger part of the divisor, so that no intermediate overflows. */
#define SIMT_COMPLEX(T, R, f, Name)                                                     \
    SIMT_MAKE T make_##Name(R real, R imaginary) {                                      \
        T z = {real, imaginary};                                                        \
        return z;                                                                       \
    }                                                                                   \
    SIMT_MAKE R cuCreal##f(T z) {                                                       \
        return z.x;                                                                     \
    }                                                                                   \
    SIMT_MAKE R cuCimag##f(T z) {                                                       \
        return z.y;                                                                     \
    }                                                                                   \
    SIMT_MAKE T cuConj##f(T z) {                                                        \
        return make_##Name(z.x, -z.y);                                                  \
    }                                                                                   \
    SIMT_MAKE T cuCadd##f(T a, T b) {                                                   \
        return make_##Name(a.x + b.x, a.y + b.y);                                       \
    }                                                                                   \
    SIMT_MAKE T cuCsub##f(T a, T b) {                                                   \
        return make_##Name(a.x - b.x, a.y - b.y);                                       \
    }                                                                                   \
    SIMT_MAKE T cuCmul##f(T a, T b) {                                                   \
        return make_##Name(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);               \
    }                                                                                   \
    SIMT_MAKE T cuCfma##f(T a, T b, T c) {                                              \
        return cuCadd##f(cuCmul##f(a, b), c);                                           \
    }                                                                                   \
    static inline T cuCdiv##f(T a, T b) {                                               \
        if (fabs##f(b.x) >= fabs##f(b.y)) {                                             \
            R ratio = b.y / b.x, size = b.x + b.y * ratio;                              \
            return make_##Name((a.x + a.y * ratio) / size, (a.y - a.x * ratio) / size); \
        }                                                                               \
        R ratio = b.x / b.y, size = b.x * ratio + b.y;                                  \
        return make_##Name((a.x * ratio + a.y) / size, (a.y * ratio - a.x) / size);     \
    }                                                                                   \
    static inline R cuCabs##f(T z) {                                                    \
        return hypot##f(z.x, z.y);                                                      \
    }

SIMT_COMPLEX(cuFloatComplex, float, f, cuFloatComplex)
SIMT_COMPLEX(cuDoubleComplex, double, , cuDoubleComplex)
#undef SIMT_COMPLEX

#define make_cuComplex make_cuFloatComplex

#endif

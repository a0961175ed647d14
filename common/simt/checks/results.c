/* results.c — the mathematics that returns a result through a pointer, for files that are marked (learner.syms): the stores are
 * checked and counted. Of sinf(x) and cosf(x) g++ makes one call of sincosf, with results on the stack.
 */
#define _GNU_SOURCE
#include <math.h>

#include "access.h"

#if SIMT_CHECKED
#define STORED(pointer, log2) \
    access_hook((uintptr_t)__builtin_return_address(0), TRACE_WRITE, (uintptr_t)(pointer), log2)
#else
#define STORED(pointer, log2) ((void)0)
#endif

#define OF_TYPE(T, suffix, log2)                           \
    void learner_sincos##suffix(T x, T *sine, T *cosine);  \
    void learner_sincos##suffix(T x, T *sine, T *cosine) { \
        STORED(sine, log2);                                \
        *sine = sin##suffix(x);                            \
        STORED(cosine, log2);                              \
        *cosine = cos##suffix(x);                          \
    }                                                      \
    T learner_frexp##suffix(T x, int *exponent);           \
    T learner_frexp##suffix(T x, int *exponent) {          \
        STORED(exponent, 2);                               \
        return frexp##suffix(x, exponent);                 \
    }                                                      \
    T learner_modf##suffix(T x, T *whole);                 \
    T learner_modf##suffix(T x, T *whole) {                \
        STORED(whole, log2);                               \
        return modf##suffix(x, whole);                     \
    }                                                      \
    T learner_remquo##suffix(T x, T y, int *quotient);     \
    T learner_remquo##suffix(T x, T y, int *quotient) {    \
        STORED(quotient, 2);                               \
        return remquo##suffix(x, y, quotient);             \
    }
OF_TYPE(float, f, 2)
OF_TYPE(double, , 3)

/* __sincosf */
void learner_fast_sincosf(float x, float *sine, float *cosine) __attribute__((alias("learner_sincosf")));

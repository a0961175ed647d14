/* math_rounded.h — one operation with a rounding mode, never contracted: __fadd_rn … __drcp_rd. */
#ifndef SIMT_MATH_ROUNDED_H
#define SIMT_MATH_ROUNDED_H

#include <math.h>

#include "boundary.h"
#include "convert.h"

#define SIMT_ROUNDINGS(X, ...)          \
    X(rz, SIMT_ROUND_ZERO, __VA_ARGS__) \
    X(ru, SIMT_ROUND_UP, __VA_ARGS__)   \
    X(rd, SIMT_ROUND_DOWN, __VA_ARGS__)

#define SIMT_BINARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a, T b) {                       \
        return function(operation, rounding, a, b, 0);              \
    }
#define SIMT_UNARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a) {                           \
        return function(operation, rounding, a, 0, 0);             \
    }
#define SIMT_RECIPROCAL(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a) {                                \
        return function(operation, rounding, 1, a, 0);                  \
    }
#define SIMT_TERNARY(suffix, rounding, name, T, function, operation) \
    SIMT_INLINE T name##_##suffix(T a, T b, T c) {                   \
        return function(operation, rounding, a, b, c);               \
    }

SIMT_ROUNDINGS(SIMT_BINARY, __fadd, float, simt_float_operation, SIMT_OP_ADD)
SIMT_ROUNDINGS(SIMT_BINARY, __fsub, float, simt_float_operation, SIMT_OP_SUB)
SIMT_ROUNDINGS(SIMT_BINARY, __fmul, float, simt_float_operation, SIMT_OP_MUL)
SIMT_ROUNDINGS(SIMT_BINARY, __fdiv, float, simt_float_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_TERNARY, __fmaf, float, simt_float_operation, SIMT_OP_FMA)
SIMT_ROUNDINGS(SIMT_UNARY, __fsqrt, float, simt_float_operation, SIMT_OP_SQRT)
SIMT_ROUNDINGS(SIMT_RECIPROCAL, __frcp, float, simt_float_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_BINARY, __dadd, double, simt_double_operation, SIMT_OP_ADD)
SIMT_ROUNDINGS(SIMT_BINARY, __dsub, double, simt_double_operation, SIMT_OP_SUB)
SIMT_ROUNDINGS(SIMT_BINARY, __dmul, double, simt_double_operation, SIMT_OP_MUL)
SIMT_ROUNDINGS(SIMT_BINARY, __ddiv, double, simt_double_operation, SIMT_OP_DIV)
SIMT_ROUNDINGS(SIMT_TERNARY, __fma, double, simt_double_operation, SIMT_OP_FMA)
SIMT_ROUNDINGS(SIMT_UNARY, __dsqrt, double, simt_double_operation, SIMT_OP_SQRT)
SIMT_ROUNDINGS(SIMT_RECIPROCAL, __drcp, double, simt_double_operation, SIMT_OP_DIV)
#undef SIMT_TERNARY
#undef SIMT_RECIPROCAL
#undef SIMT_UNARY
#undef SIMT_BINARY
#undef SIMT_ROUNDINGS

/* To nearest even: the machine's own rounding. */
SIMT_INLINE float __fadd_rn(float a, float b) {
    return a + b;
}
SIMT_INLINE float __fsub_rn(float a, float b) {
    return a - b;
}
SIMT_INLINE float __fmul_rn(float a, float b) {
    return a * b;
}
SIMT_INLINE float __fdiv_rn(float a, float b) {
    return a / b;
}
SIMT_INLINE float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
SIMT_INLINE float __fsqrt_rn(float a) {
    return sqrtf(a);
}
SIMT_INLINE float __frcp_rn(float a) {
    return 1.0f / a;
}
SIMT_INLINE float __frsqrt_rn(float a) {
    return simt_float_operation(SIMT_OP_RSQRT, SIMT_ROUND_NEAREST, a, 0, 0);
}
SIMT_INLINE double __dadd_rn(double a, double b) {
    return a + b;
}
SIMT_INLINE double __dsub_rn(double a, double b) {
    return a - b;
}
SIMT_INLINE double __dmul_rn(double a, double b) {
    return a * b;
}
SIMT_INLINE double __ddiv_rn(double a, double b) {
    return a / b;
}
SIMT_INLINE double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
SIMT_INLINE double __dsqrt_rn(double a) {
    return sqrt(a);
}
SIMT_INLINE double __drcp_rn(double a) {
    return 1.0 / a;
}

#endif

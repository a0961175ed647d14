/* rounding.h — operations and conversions with a rounding mode, as api/math.c implements them. C17 and C++. */
#ifndef SIMT_ROUNDING_H
#define SIMT_ROUNDING_H

#include <stdbool.h>

#include "boundary.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_ROUND_NEAREST, SIMT_ROUND_ZERO, SIMT_ROUND_UP, SIMT_ROUND_DOWN };
enum { SIMT_OP_ADD, SIMT_OP_SUB, SIMT_OP_MUL, SIMT_OP_DIV, SIMT_OP_FMA, SIMT_OP_SQRT, SIMT_OP_RSQRT };

#define SIMT_CONST SIMT_NOTHROW __attribute__((const))
float simt_float_operation(int operation, int rounding, float a, float b, float c) SIMT_CONST;
double simt_double_operation(int operation, int rounding, double a, double b, double c) SIMT_CONST;
float simt_float_of_double(double x, int rounding) SIMT_CONST;
float simt_float_of_i64(long long x, int rounding) SIMT_CONST;
float simt_float_of_u64(unsigned long long x, int rounding) SIMT_CONST;
double simt_double_of_i64(long long x, int rounding) SIMT_CONST;
double simt_double_of_u64(unsigned long long x, int rounding) SIMT_CONST;

#ifdef __cplusplus
}
#endif
#endif

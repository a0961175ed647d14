/* math_library.h — functions of api/math.c: operations with a rounding mode, and special functions that the C library lacks.
 * C17 and C++. */
#ifndef SIMT_MATH_LIBRARY_H
#define SIMT_MATH_LIBRARY_H

#include <stdbool.h>

#include "boundary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operations and conversions with a rounding mode. */
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

/* Special functions. */
double simt_sinpi(double x) SIMT_CONST; /* sin(pi * x) */
double simt_cospi(double x) SIMT_CONST;
double simt_erfcx(double x) SIMT_CONST; /* exp(x * x) * erfc(x) */
double simt_erfinv(double x) SIMT_CONST;
double simt_erfcinv(double x) SIMT_CONST;
double simt_normcdf(double x) SIMT_CONST;
double simt_normcdfinv(double x) SIMT_CONST;
double simt_rsqrt(double x) SIMT_CONST;
double simt_rcbrt(double x) SIMT_CONST;
double simt_bessel_i0(double x) SIMT_CONST;
double simt_bessel_i1(double x) SIMT_CONST;

#ifdef __cplusplus
}
#endif
#endif

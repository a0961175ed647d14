/* special.h — special functions that the C library lacks, computed by api/math.c. C17 and C++. */
#ifndef SIMT_SPECIAL_H
#define SIMT_SPECIAL_H

#include "rounding.h"

#ifdef __cplusplus
extern "C" {
#endif

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

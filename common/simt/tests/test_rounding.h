/* test_rounding.h — operations and conversions with a rounding mode: test_rounding.cu evaluates, test_rounding.c defines. */
#ifndef SIMT_TEST_ROUNDING_H
#define SIMT_TEST_ROUNDING_H

#include <stdint.h>

enum { ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN, ROUNDINGS };
enum { ROUNDED_ADD, ROUNDED_SUB, ROUNDED_MUL, ROUNDED_DIV, ROUNDED_FMA, ROUNDED_SQRT, ROUNDED_RCP, ROUNDED_OPERATIONS };
enum { INTEGER_INT, INTEGER_UINT, INTEGER_LL, INTEGER_ULL, INTEGERS };

#ifdef __cplusplus
extern "C" {
#endif
/* in: count times a, then b, then c. */
int run_float_operation(int operation, int rounding, float *out, const float *in, int count);
int run_double_operation(int operation, int rounding, double *out, const double *in, int count);
int run_float_to_integer(int integer, int rounding, int64_t *out, const float *in, int count);
int run_double_to_integer(int integer, int rounding, int64_t *out, const double *in, int count);
int run_integer_to_float(int integer, int rounding, float *out, const int64_t *in, int count);
int run_integer_to_double(int integer, int rounding, double *out, const int64_t *in, int count);
int run_double_to_float(int rounding, float *out, const double *in, int count);
int run_casts(void); /* 0, or the number of the first cast of bits that is wrong */
#ifdef __cplusplus
}
#endif
#endif

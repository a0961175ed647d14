/* test_minifloat.h — the operations that the kernels of test_minifloat*.cu evaluate: half (0) and bfloat16 (1). */
#ifndef SIMT_TEST_MINIFLOAT_H
#define SIMT_TEST_MINIFLOAT_H

#include <stdint.h>

enum { FORMAT_HALF, FORMAT_BFLOAT, FORMATS };
enum { ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN, ROUNDINGS };

/* On three arguments: scalar arithmetic; the same on both halves of a pair; operators; comparisons as 0 or 1. */
/* clang-format off */
#define MINI_OPERATIONS(X)                                                                                      \
    X(add) X(sub) X(mul) X(div) X(fma) X(add2) X(sub2) X(mul2) X(div2) X(fma2) X(operator_add)                  \
    X(operator_sub) X(operator_mul) X(operator_div) X(increment) X(neg) X(abs) X(min) X(max) X(min_nan)         \
    X(max_nan) X(min2) X(max2) X(add_sat) X(sub_sat) X(mul_sat) X(fma_sat) X(fma_relu) X(eq) X(ne) X(lt)        \
    X(le) X(gt) X(ge) X(equ) X(neu) X(ltu) X(leu) X(gtu) X(geu) X(eq2) X(lt2_mask) X(bge2) X(is_equal)          \
    X(is_less) X(isnan) X(isinf) X(sqrt) X(rsqrt) X(rcp) X(exp) X(exp2) X(exp10) X(log) X(log2) X(log10)        \
    X(sin) X(cos) X(tanh) X(ceil) X(floor) X(trunc) X(rint)
/* clang-format on */

enum mini_operation {
#define MINI_OPERATION(name) MINI_##name,
    MINI_OPERATIONS(MINI_OPERATION)
#undef MINI_OPERATION
        MINI_OPERATION_COUNT
};

enum { INTEGER_INT, INTEGER_UINT, INTEGER_SHORT, INTEGER_USHORT, INTEGER_LL, INTEGER_ULL, INTEGERS };

#ifdef __cplusplus
extern "C" {
#endif
int run_widen(int format, float *out, const uint16_t *in, int count);
int run_narrow(int format, int rounding, uint16_t *out, const float *in, int count);
int run_narrow_double(int format, uint16_t *out, const double *in, int count);
int run_operation(int format, int operation, uint16_t *out, const uint16_t *a, const uint16_t *b, const uint16_t *c,
                  int count);
int run_accumulate(int format, int pairs, uint16_t *sums, const uint16_t *a, const uint16_t *b, int count);
int run_to_integer(int format, int integer, int rounding, int64_t *out, const uint16_t *in, int count);
int run_from_integer(int format, int integer, int rounding, uint16_t *out, const int64_t *in, int count);
int run_pairs(int format); /* 0, or the number of the first pair function that is wrong */
#ifdef __cplusplus
}
#endif
#endif

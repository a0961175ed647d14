/* test_math.h — the functions that test_math.cu evaluates in kernels and test_math.c defines. */
#ifndef SIMT_TEST_MATH_H
#define SIMT_TEST_MATH_H

/* name, and the largest error in units in the last place that CUDA documents for it */
/* clang-format off */
#define FLOAT_FUNCTIONS(X)                                                                                      \
    X(expf, 1) X(exp2f, 2) X(exp10f, 2) X(expm1f, 1) X(logf, 1) X(log2f, 1) X(log10f, 2) X(log1pf, 1)           \
    X(sinf, 2) X(cosf, 2) X(tanf, 4) X(sinpif, 1) X(cospif, 1) X(tanhf, 2) X(sinhf, 3) X(coshf, 2)              \
    X(asinf, 2) X(acosf, 2) X(atanf, 2) X(erff, 2) X(erfcf, 4) X(erfcxf, 4) X(erfinvf, 2) X(erfcinvf, 4)        \
    X(normcdff, 5) X(normcdfinvf, 5) X(sqrtf, 0) X(rsqrtf, 2) X(cbrtf, 1) X(rcbrtf, 1) X(tgammaf, 5)            \
    X(fast_expf, 2) X(fast_exp10f, 2) X(fast_logf, 2) X(fast_log2f, 2) X(fast_log10f, 2) X(fast_sinf, 2)        \
    X(fast_cosf, 2) X(fast_tanf, 4) X(frcp_rn, 0) X(fsqrt_rn, 0) X(frsqrt_rn, 0) X(saturatef, 0)
/* clang-format on */

/* clang-format off */
#define DOUBLE_FUNCTIONS(X)                                                                                     \
    X(exp, 1) X(log, 1) X(sin, 2) X(cos, 2) X(sinpi, 2) X(cospi, 2) X(tanh, 2) X(erf, 2) X(erfc, 5)             \
    X(erfcx, 4) X(erfinv, 5) X(erfcinv, 6) X(normcdf, 5) X(normcdfinv, 8) X(rsqrt, 1) X(rcbrt, 1)               \
    X(cyl_bessel_i0, 6) X(cyl_bessel_i1, 6) X(dsqrt_rn, 0) X(drcp_rn, 0)
/* clang-format on */

enum {
#define MATH_NAME(name, error) MATH_##name,
    FLOAT_FUNCTIONS(MATH_NAME) FLOAT_FUNCTION_COUNT,
    BEFORE_FIRST_DOUBLE_FUNCTION = 99,
    DOUBLE_FUNCTIONS(MATH_NAME) DOUBLE_FUNCTION_END,
#undef MATH_NAME
    FIRST_DOUBLE_FUNCTION = BEFORE_FIRST_DOUBLE_FUNCTION + 1,
};

#ifdef __cplusplus
extern "C" {
#endif
int run_float_function(int which, float *out, const float *in, int count);
int run_double_function(int which, double *out, const double *in, int count);
int run_math_checks(void); /* special cases, as bits of the checks that fail */
#ifdef __cplusplus
}
#endif
#endif

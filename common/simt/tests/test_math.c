/* Mathematical functions within the error that CUDA documents, against the C library in long double. */
#define _GNU_SOURCE
#include "test_math.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "findings.h"

TestSuite(math, .init = quiet, .timeout = 60);

enum { COUNT = 3000 };

#define PI_L 3.14159265358979323846264338327950288L

/* The function in long double; erfinv and similar functions by bisection of their inverse. */
static long double inverse(long double (*f)(long double), long double y, bool rising) {
    long double low = -50, high = 50;
    for (int i = 0; i < 200; i++) {
        long double middle = (low + high) / 2;
        if ((f(middle) < y) == rising)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static long double normal_cdf(long double x) {
    return erfcl(-x / sqrtl(2)) / 2;
}

/* The integral that defines I_n, by the trapezoidal rule, which converges like exp for a period. */
static long double bessel(int n, long double x) {
    enum { STEPS = 400 };
    long double sum = (expl(x) + (n % 2 ? -1 : 1) * expl(-x)) / 2;
    for (int i = 1; i < STEPS; i++) sum += expl(x * cosl(PI_L * i / STEPS)) * cosl(n * PI_L * i / STEPS);
    return sum / STEPS;
}

static long double sine_of_turns(long double x) {
    return sinl(PI_L * remainderl(x, 2));
}

static long double float_defined(int which, long double x) {
    switch (which) {
        case MATH_expf:
        case MATH_fast_expf: return expl(x);
        case MATH_exp2f: return exp2l(x);
        case MATH_exp10f:
        case MATH_fast_exp10f: return powl(10, x);
        case MATH_expm1f: return expm1l(x);
        case MATH_logf:
        case MATH_fast_logf: return logl(x);
        case MATH_log2f:
        case MATH_fast_log2f: return log2l(x);
        case MATH_log10f:
        case MATH_fast_log10f: return log10l(x);
        case MATH_log1pf: return log1pl(x);
        case MATH_sinf:
        case MATH_fast_sinf: return sinl(x);
        case MATH_cosf:
        case MATH_fast_cosf: return cosl(x);
        case MATH_tanf:
        case MATH_fast_tanf: return tanl(x);
        case MATH_sinpif: return sine_of_turns(x);
        case MATH_cospif: return sine_of_turns(0.5L - fabsl(remainderl(x, 2)));
        case MATH_tanhf: return tanhl(x);
        case MATH_sinhf: return sinhl(x);
        case MATH_coshf: return coshl(x);
        case MATH_asinf: return asinl(x);
        case MATH_acosf: return acosl(x);
        case MATH_atanf: return atanl(x);
        case MATH_erff: return erfl(x);
        case MATH_erfcf: return erfcl(x);
        case MATH_erfcxf: return expl(x * x) * erfcl(x);
        case MATH_erfinvf: return inverse(erfl, x, true);
        case MATH_erfcinvf: return inverse(erfcl, x, false);
        case MATH_normcdff: return normal_cdf(x);
        case MATH_normcdfinvf: return inverse(normal_cdf, x, true);
        case MATH_sqrtf:
        case MATH_fsqrt_rn: return sqrtl(x);
        case MATH_rsqrtf:
        case MATH_frsqrt_rn: return 1 / sqrtl(x);
        case MATH_cbrtf: return cbrtl(x);
        case MATH_rcbrtf: return 1 / cbrtl(x);
        case MATH_tgammaf: return tgammal(x);
        case MATH_frcp_rn: return 1 / x;
        default: return x < 0 ? 0 : x > 1 ? 1 : x;
    }
}

static long double double_defined(int which, long double x) {
    switch (which) {
        case MATH_exp: return expl(x);
        case MATH_log: return logl(x);
        case MATH_sin: return sinl(x);
        case MATH_cos: return cosl(x);
        case MATH_sinpi: return sine_of_turns(x);
        case MATH_cospi: return sine_of_turns(0.5L - fabsl(remainderl(x, 2)));
        case MATH_tanh: return tanhl(x);
        case MATH_erf: return erfl(x);
        case MATH_erfc: return erfcl(x);
        case MATH_erfcx: return expl(x * x) * erfcl(x);
        case MATH_erfinv: return inverse(erfl, x, true);
        case MATH_erfcinv: return inverse(erfcl, x, false);
        case MATH_normcdf: return normal_cdf(x);
        case MATH_normcdfinv: return inverse(normal_cdf, x, true);
        case MATH_rsqrt: return 1 / sqrtl(x);
        case MATH_rcbrt: return 1 / cbrtl(x);
        case MATH_cyl_bessel_i0: return bessel(0, x);
        case MATH_cyl_bessel_i1: return bessel(1, x);
        case MATH_dsqrt_rn: return sqrtl(x);
        default: return 1 / x;
    }
}

/* Arguments between -8 and 8, where the function is defined. */
static double argument(int which, int i) {
    double x = -8 + 16.0 * i / COUNT + 1e-3 * (i % 7);
    switch (which) {
        case MATH_logf:
        case MATH_log2f:
        case MATH_log10f:
        case MATH_fast_logf:
        case MATH_fast_log2f:
        case MATH_fast_log10f:
        case MATH_sqrtf:
        case MATH_fsqrt_rn:
        case MATH_rsqrtf:
        case MATH_frsqrt_rn:
        case MATH_log:
        case MATH_rsqrt:
        case MATH_dsqrt_rn: return exp2(x) * 1.01;
        case MATH_log1pf: return exp2(x) - 0.9;
        case MATH_tgammaf: return exp2(fmin(x, 5)) + 0.5e-4;
        case MATH_asinf:
        case MATH_acosf:
        case MATH_erfinvf:
        case MATH_erfinv: return (i + 0.5) / COUNT * 2 - 1;
        case MATH_erfcinvf:
        case MATH_erfcinv: return (i + 0.5) / COUNT * 2;
        case MATH_normcdfinvf:
        case MATH_normcdfinv: return (i + 0.5) / COUNT;
        case MATH_fast_sinf:
        case MATH_fast_cosf: return x * PI_L / 8;
        case MATH_sinpif:
        case MATH_cospif:
        case MATH_sinpi:
        case MATH_cospi: return x + 0.3e-3;
        default: return x + 0.5e-4;
    }
}

/* |got - exact| in units in the last place of a number with that many bits; 0 allowed: the nearest one. */
static void expect_close(const char *name, double x, double got, long double exact, int bits, double allowed) {
    int exponent;
    frexpl(exact, &exponent);
    long double unit = ldexpl(1, exponent - bits);
    long double error = fabsl(got - exact) / unit;
    cr_assert(error <= (allowed == 0 ? 0.5000001L : (long double)allowed), "%s(%a) is %a, off by %.2Lf ulp of %La",
              name, x, got, error, exact);
}

Test(math, float_functions_are_within_the_documented_error) {
    static const struct {
        const char *name;
        double allowed;
    } functions[] = {
#define MATH_NAME(name, error) {#name, error},
        FLOAT_FUNCTIONS(MATH_NAME)
#undef MATH_NAME
    };
    static float in[COUNT], out[COUNT];
    for (int which = 0; which < FLOAT_FUNCTION_COUNT; which++) {
        for (int i = 0; i < COUNT; i++) in[i] = (float)argument(which, i);
        cr_assert_eq(run_float_function(which, out, in, COUNT), 0);
        for (int i = 0; i < COUNT; i++)
            expect_close(functions[which].name, in[i], out[i], float_defined(which, in[i]), FLT_MANT_DIG,
                         functions[which].allowed);
    }
    expect_none();
}

/* Over all exponents, with the overflow, the denormal results and the NaNs: expf is not the C library's. */
Test(math, expf_is_rounded_almost_correctly_everywhere) {
    enum { SAMPLES = 1 << 15 };
    static float in[SAMPLES], out[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t bits = i * 0x20003u; /* every 2^17th or so */
        memcpy(&in[i], &bits, sizeof bits);
        if (i % 2) { in[i] = (float)(i * 0x1p-7 - 128); }
    }
    cr_assert_eq(run_float_function(MATH_expf, out, in, SAMPLES), 0);
    for (int i = 0; i < SAMPLES; i++) {
        long double exact = expl(in[i]);
        int exponent = -200;
        if (isfinite(exact)) { frexpl(exact, &exponent); }
        if (isnan(in[i]) || isinf((float)exact))
            cr_assert(isnan(in[i]) ? isnan(out[i]) : isinf(out[i]) && out[i] > 0, "expf(%a) is %a", in[i], out[i]);
        else /* in denormal numbers the unit is 2^-149 */
            expect_close("expf", in[i], out[i], exact, exponent < -125 ? exponent + 149 : FLT_MANT_DIG, 0.502);
    }
    expect_none();
}

Test(math, double_functions_are_within_the_documented_error) {
    static const struct {
        const char *name;
        double allowed;
    } functions[] = {
#define MATH_NAME(name, error) {#name, error},
        DOUBLE_FUNCTIONS(MATH_NAME)
#undef MATH_NAME
    };
    static double in[COUNT], out[COUNT];
    for (int which = FIRST_DOUBLE_FUNCTION; which < DOUBLE_FUNCTION_END; which++) {
        for (int i = 0; i < COUNT; i++) in[i] = argument(which, i);
        cr_assert_eq(run_double_function(which, out, in, COUNT), 0);
        for (int i = 0; i < COUNT; i++)
            expect_close(functions[which - FIRST_DOUBLE_FUNCTION].name, in[i], out[i], double_defined(which, in[i]),
                         DBL_MANT_DIG, functions[which - FIRST_DOUBLE_FUNCTION].allowed);
    }
    expect_none();
}

Test(math, special_cases) {
    int wrong = run_math_checks();
    cr_assert_eq(wrong, 0, "check %d", wrong - 1);
    expect_none();
}

/* patterns_softmax: wrong sums and maxima are recognised by the factor of the error and by the rows that are wrong. */
#include <criterion/criterion.h>

#include "diagnosing.h"

TestSuite(patterns_softmax, .timeout = 120);

/* Softmax in double. Mistakes change the value that is subtracted, and the divisors of the even and odd columns. */
static int softmax(float *const tensor[], const struct op_sizes *sizes,
                   double (*subtracted)(const float *x, int C, double maximum),
                   double (*divisor)(const float *x, int C, int parity, double maximum)) {
    for (int n = 0; n < sizes->N; n++) {
        float *out = tensor[0] + (size_t)n * (size_t)sizes->C, *x = tensor[1] + (size_t)n * (size_t)sizes->C;
        double maximum = -INFINITY;
        bool nan = false;
        for (int c = 0; c < sizes->C; c++) {
            maximum = fmax(maximum, x[c]);
            nan = nan || isnan(x[c]);
        }
        double shift = subtracted(x, sizes->C, maximum);
        double divisors[2] = {divisor(x, sizes->C, 0, maximum), divisor(x, sizes->C, 1, maximum)};
        float result[1 << 16];
        for (int c = 0; c < sizes->C; c++) {
            float term = expf((float)(x[c] - shift));
            result[c] = nan ? NAN : term / (float)(divisors[c % 2] * exp(maximum - shift));
        }
        memcpy(out, result, (size_t)sizes->C * sizeof(float));
    }
    return 0;
}

static double the_maximum(const float *x, int C, double maximum) {
    return (void)x, (void)C, maximum;
}
static double the_magnitude(const float *x, int C, double maximum) {
    double largest = maximum;
    for (int c = 0; c < C; c++) { largest = fmax(largest, fabs((double)x[c])); }
    return isfinite(maximum) && isfinite(largest) ? largest : maximum;
}

static double sum_from(const float *x, int C, int first, int step, double maximum) {
    double sum = 0.0;
    for (int c = first; c < C; c += step) { sum += exp(x[c] - maximum); }
    return sum;
}
static double whole(const float *x, int C, int parity, double maximum) {
    return (void)parity, sum_from(x, C, 0, 1, maximum);
}
static double without_column_1(const float *x, int C, int parity, double maximum) {
    return (void)parity, exp(x[0] - maximum) + sum_from(x, C, 2, 1, maximum);
}
static double own_of_four(const float *x, int C, int parity, double maximum) {
    return sum_from(x, C, parity, 4, maximum);
}

static int magnitude(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return (void)fake, softmax(tensor, sizes, the_magnitude, whole);
}
static int column_1_not_counted(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return (void)fake, softmax(tensor, sizes, the_maximum, without_column_1);
}
static int exchange_missing(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return (void)fake, softmax(tensor, sizes, the_maximum, own_of_four);
}

static const struct {
    int (*kernel)(const struct fake *, float *const[], const struct op_sizes *);
    const char *id;
} mistaken[] = {
    {magnitude, "softmax-not-the-maximum"},
    {column_1_not_counted, "softmax-sum-wrong"},
    {exchange_missing, "reduction-incomplete"},
};

ParameterizedTestParameters(patterns_softmax, each_is_named) {
    return indices(sizeof mistaken / sizeof mistaken[0]);
}

ParameterizedTest(int *index, patterns_softmax, each_is_named) {
    struct fake fake = {.kernel = mistaken[*index].kernel};
    const char *found = diagnosis(&fake, "softmax_forward", 64);
    cr_assert_str_eq(found, mistaken[*index].id, "%s was taken for '%s'", mistaken[*index].id, found);
}

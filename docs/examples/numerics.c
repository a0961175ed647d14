/* numerics.c TABLE — the tables of the chapter 'Numerics': formats, softmax, variance, sums, order.
 *
 * Plain C on any machine: every figure is computed here, in the type that the table names, and compared with double.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef _Float16 half;

enum { C = 1024, ROWS = 64 };

static uint64_t state = 1;

static double uniform(void) { /* in (0, 1); splitmix64, Steele et al. 2014 */
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) { /* Box and Muller, 1958 */
    double radius = sqrt(-2.0 * log(uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

/* The nearest bf16: to even. */
static float bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f16(float value) {
    return (float)(half)value;
}

static float f32(float value) {
    return value;
}

/* ---- formats ---- */

static void print_format(const char *name, int exponent, int fraction) {
    const int bias = (1 << (exponent - 1)) - 1;
    printf("| %s | %d | %d | %.3g | %.3g | 2^-%d = %.2g |\n", name, exponent, fraction,
           ldexp(2.0 - ldexp(1.0, -fraction), bias), ldexp(1.0, 1 - bias), fraction + 1, ldexp(1.0, -fraction - 1));
}

static void formats(void) {
    puts("| type | exponent bits | fraction bits | largest | smallest normal | rounding unit |");
    puts("|---|--:|--:|--:|--:|--:|");
    print_format("fp32", 8, 23);
    print_format("fp16", 5, 10);
    print_format("bf16", 8, 7);
}

/* ---- softmax ---- */

/* printf writes a NaN as "nan" or "-nan". */
static const char *shown(float value, char text[16]) {
    snprintf(text, 16, isnan(value) ? "NaN" : "%.5f", (double)value);
    return text;
}

static void softmax(void) {
    static const float largest[] = {1.0f, 80.0f, 89.0f, 1000.0f, -104.0f};
    puts("| x | expf(x_0) | without the shift | with the shift | exact |");
    puts("|---|--:|--:|--:|--:|");
    for (size_t i = 0; i < sizeof largest / sizeof *largest; i++) {
        const float x[] = {largest[i], largest[i] - 1.0f};
        const float plain = expf(x[0]) / (expf(x[0]) + expf(x[1]));
        const float shifted = expf(0.0f) / (expf(0.0f) + expf(x[1] - x[0]));
        char text[2][16];
        printf("| (%g, %g) | %.3g | %s | %s | %.5f |\n", (double)x[0], (double)x[1], (double)expf(x[0]),
               shown(plain, text[0]), shown(shifted, text[1]), 1.0 / (1.0 + exp(-1.0)));
    }
}

/* ---- variance ---- */

static double exact_variance(const float *x) {
    double mean = 0.0, sum = 0.0;
    for (int i = 0; i < C; i++) { mean += (double)x[i] / C; }
    for (int i = 0; i < C; i++) { sum += ((double)x[i] - mean) * ((double)x[i] - mean); }
    return sum / C;
}

static float two_passes(const float *x) {
    float mean = 0.0f, sum = 0.0f;
    for (int i = 0; i < C; i++) { mean += x[i]; }
    mean /= C;
    for (int i = 0; i < C; i++) { sum += (x[i] - mean) * (x[i] - mean); }
    return sum / C;
}

static float one_pass(const float *x) {
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return squares / C - (sum / C) * (sum / C);
}

static float welford(const float *x) {
    float mean = 0.0f, squares = 0.0f;
    for (int i = 0; i < C; i++) {
        const float distance = x[i] - mean;
        mean += distance / (float)(i + 1);
        squares += distance * (x[i] - mean);
    }
    return squares / C;
}

static double largest_error(float (*variance)(const float *), double mean) {
    double worst = 0.0;
    state = 1;
    for (int row = 0; row < ROWS; row++) {
        float x[C];
        for (int i = 0; i < C; i++) { x[i] = (float)(mean + normal()); }
        const double exact = exact_variance(x);
        worst = fmax(worst, fabs((double)variance(x) - exact) / exact);
    }
    return worst;
}

static void variance(void) {
    puts("| mean / deviation | two passes | Welford | E[x²] − E[x]² |");
    puts("|--:|--:|--:|--:|");
    for (double mean = 0.0; mean <= 10000.0; mean = mean == 0.0 ? 10.0 : 10.0 * mean) {
        printf("| %g | %.0e | %.0e | %.0e |\n", mean, largest_error(two_passes, mean), largest_error(welford, mean),
               largest_error(one_pass, mean));
    }
}

/* ---- sums ---- */

static float serial(const float *x, float (*rounded)(float)) {
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum = rounded(sum + x[i]); }
    return sum;
}

static float tree(const float *x, float (*rounded)(float)) {
    float part[C];
    memcpy(part, x, sizeof part);
    for (int width = C / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) { part[i] = rounded(part[i] + part[i + width]); }
    }
    return part[0];
}

typedef float sum_of(const float *x, float (*rounded)(float));

static double largest_sum_error(sum_of *sum, float (*rounded)(float), float (*element)(float)) {
    double worst = 0.0;
    state = 1;
    for (int row = 0; row < ROWS; row++) {
        float x[C];
        double exact = 0.0;
        for (int i = 0; i < C; i++) { exact += (double)(x[i] = element((float)uniform())); }
        worst = fmax(worst, fabs((double)sum(x, rounded) - exact) / exact);
    }
    return worst;
}

static void sums(void) {
    static const struct {
        const char *name;
        float (*round)(float);
    } types[] = {{"fp32", f32}, {"fp16", f16}, {"bf16", bf16}};
    puts("| elements | sum in the same type, one after the other | as a tree | in fp32, one after the other | as a "
         "tree |");
    puts("|---|--:|--:|--:|--:|");
    for (int i = 0; i < 3; i++) {
        float (*type)(float) = types[i].round;
        printf("| %s | %.0e | %.0e | %.0e | %.0e |\n", types[i].name, largest_sum_error(serial, type, type),
               largest_sum_error(tree, type, type), largest_sum_error(serial, f32, type),
               largest_sum_error(tree, f32, type));
    }
}

/* ---- the order of two adds ---- */

static void order(void) {
    enum { COUNT = 100000 };
    static const struct {
        const char *name;
        float (*round)(float);
    } types[] = {{"fp32", f32}, {"fp16", f16}, {"bf16", bf16}};
    puts("| type | elements that differ between (a + b) + c and a + (b + c) | between two roundings and one |");
    puts("|---|--:|--:|");
    for (int i = 0; i < 3; i++) {
        int grouped = 0, fused = 0;
        float (*type)(float) = types[i].round;
        state = 1;
        for (int k = 0; k < COUNT; k++) {
            const float a = type((float)normal()), b = type((float)normal()), c = type((float)normal());
            const float left = type(type(a + b) + c), right = type(a + type(b + c));
            grouped += left != right;
            fused += left != type((float)((double)a + (double)b + (double)c));
        }
        printf("| %s | %.0f %% | %.0f %% |\n", types[i].name, 100.0 * grouped / COUNT, 100.0 * fused / COUNT);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*print)(void);
    } tables[] = {{"formats", formats}, {"softmax", softmax}, {"variance", variance}, {"sums", sums}, {"order", order}};
    for (size_t i = 0; argc == 2 && i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(argv[1], tables[i].name) == 0) {
            tables[i].print();
            return 0;
        }
    }
    fprintf(stderr, "usage: numerics formats | softmax | variance | sums | order\n");
    return 2;
}

/* fast_math.c — __expf and its family under the names that the C library's header declares. At least as close as CUDA
 * documents: the correctly rounded or nearly so result of the C library.
 */
#define _GNU_SOURCE
#include <math.h>

float __expf(float x) {
    return expf(x);
}
float __exp10f(float x) {
    return exp10f(x);
}
float __logf(float x) {
    return logf(x);
}
float __log2f(float x) {
    return log2f(x);
}
float __log10f(float x) {
    return log10f(x);
}
float __sinf(float x) {
    return sinf(x);
}
float __cosf(float x) {
    return cosf(x);
}
float __tanf(float x) {
    return tanf(x);
}
float __tanhf(float x) {
    return tanhf(x);
}
float __powf(float x, float y) {
    return exp2f(y * log2f(x));
}

void __sincosf(float x, float *sine, float *cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}

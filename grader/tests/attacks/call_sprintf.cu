// Reads device memory by a function of the C library.
// stopped by: object rules: sprintf
#include "right.cuh"

#include <stdio.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    char text[8]; sprintf(text, "%.4s", (const char *)x);
    return add(out, x, residual, N, C, stream);
}

// Opens a file by the C library.
// stopped by: object rules: fopen
#include "right.cuh"

#include <stdio.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    fopen("/proc/self/exe", "r");
    return add(out, x, residual, N, C, stream);
}

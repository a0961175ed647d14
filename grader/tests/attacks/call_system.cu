// Starts a shell.
// stopped by: object rules: system
#include "right.cuh"

#include <stdlib.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (system("true")) {}
    return add(out, x, residual, N, C, stream);
}

// Includes the machine's own instructions.
// stopped by: source rules: not allowed: an include
#include <immintrin.h>
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

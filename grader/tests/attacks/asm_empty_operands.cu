// Uses an empty asm to hide a pointer's origin.
// stopped by: source rules: asm
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    asm("" : "+r"(x));
    return add(out, x, residual, N, C, stream);
}

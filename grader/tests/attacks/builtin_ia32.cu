// Uses an instruction of the machine by a builtin.
// stopped by: source rules: __builtin
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return __builtin_ia32_rdtsc() ? add(out, x, residual, N, C, stream) : 1;
}

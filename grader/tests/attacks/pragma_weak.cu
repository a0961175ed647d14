// Binds a name to another by a pragma.
// stopped by: source rules: pragma
#include "right.cuh"

#pragma redefine_extname cudaGetLastError simt_counters_reset
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

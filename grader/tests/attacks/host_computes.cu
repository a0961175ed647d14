// Computes on the host, by device pointers.
// stopped by: memory of the host: device memory
#include "empty.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    for (size_t i = 0; i < (size_t)N * C; i++) { out[i] = x[i] + residual[i]; }
    return launch_empty(N, C, stream);
}

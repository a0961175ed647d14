// Reads device memory in bits.
// stopped by: memory of the host: device memory
#include "empty.cuh"

struct bits { unsigned a : 3, b : 29; };
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N * C > 0 && ((const bits *)x)->a == 5) { return 1; }
    return launch_empty(N, C, stream);
}

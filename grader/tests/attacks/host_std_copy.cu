// Computes on the host, by std::copy.
// stopped by: memory of the host: device memory
#include "empty.cuh"

#include <algorithm>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    std::copy(x, x + (size_t)N * C, out);
    return launch_empty(N, C, stream);
}

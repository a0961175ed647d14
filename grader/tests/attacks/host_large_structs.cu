// Copies large structs of device memory on the host.
// stopped by: memory of the host: device memory
#include "empty.cuh"

struct many { float v[256]; };
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    many a;
    for (size_t i = 0; i + 256 <= (size_t)N * C; i += 256) {
        a = *(const many *)(x + i);
        *(many *)(out + i) = a;
    }
    return launch_empty(N, C, stream);
}

// Reads device memory in a callback of the stream.
// stopped by: memory of the host: device memory
#include "empty.cuh"

struct call { const float *x; };
static void callback(void *data) {
    volatile float v = ((call *)data)->x[0];
    (void)v;
}
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    static call c;
    c.x = x;
    if (N * C > 0) { cudaLaunchHostFunc(stream, callback, &c); }
    return launch_empty(N, C, stream);
}

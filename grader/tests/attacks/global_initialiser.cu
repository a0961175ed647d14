// Runs code before main: an initialiser.
// stopped by: object rules: not allowed
#include "right.cuh"

static int devices() { int n = 0; cudaGetDeviceCount(&n); return n; }
int count_of_devices = devices();
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

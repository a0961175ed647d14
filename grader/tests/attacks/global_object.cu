// Runs code before main: an object's constructor.
// stopped by: object rules: not allowed
#include "right.cuh"

extern "C" int puts(const char *);
static struct early { early() { puts("before main"); } } object;
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

// A host function on the stream computes in device memory.
// stopped by: memory of the host: Invalid host read
#include "empty.cuh"
struct call { float *out; const float *x, *r; size_t n; };
static call c;
static void compute(void *p) { call *d = (call *)p; for (size_t i = 0; i < d->n; i++) d->out[i] = d->x[i] + d->r[i]; }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    c = {out, x, residual, (size_t)N * C};
    cudaLaunchHostFunc(stream, compute, &c);
    return launch_empty(N, C, stream);
}

// Starts a thread.
// stopped by: object rules: pthread_create
#include "right.cuh"

extern "C" int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    unsigned long t; pthread_create(&t, nullptr, nullptr, nullptr);
    return add(out, x, residual, N, C, stream);
}

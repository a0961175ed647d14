// Maps memory.
// stopped by: object rules: mmap
#include "right.cuh"

extern "C" void *mmap(void *, unsigned long, int, int, int, long);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    mmap(nullptr, 4096, 7, 34, -1, 0);
    return add(out, x, residual, N, C, stream);
}

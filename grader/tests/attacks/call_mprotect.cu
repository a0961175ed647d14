// Makes memory executable.
// stopped by: object rules: mprotect
#include "right.cuh"

extern "C" int mprotect(void *, unsigned long, int);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    mprotect((void *)0x400000, 4096, 7);
    return add(out, x, residual, N, C, stream);
}

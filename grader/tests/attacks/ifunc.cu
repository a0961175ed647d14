// Runs code when the program is loaded.
// stopped by: source rules: attribute
#include "right.cuh"

extern "C" void *choose() { return nullptr; }
extern "C" int chosen() __attribute__((ifunc("choose")));
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

// Calls a function by an attribute of a variable.
// stopped by: source rules: attribute
#include "right.cuh"

static void after(int *) {}
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    __attribute__((cleanup(after))) int x_ = 0;
    (void)x_;
    return add(out, x, residual, N, C, stream);
}

// Makes a name another's.
// stopped by: source rules: attribute
#include "right.cuh"

extern "C" int mine() { return 0; }
extern "C" int other() __attribute__((alias("mine")));
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

// Has an array of 4 GiB.
// stopped by: build sandbox: error:
#include "right.cuh"

char large[1ul << 32] = {1};
char *use() { return large; }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

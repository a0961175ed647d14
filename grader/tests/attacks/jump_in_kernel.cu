// Calls an address in a kernel.
// stopped by: control flow: is no function of the lab's own code
#include "right.cuh"

__global__ void jump(unsigned long at) { ((void (*)())at)(); }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N * C > 0) { jump<<<1, 1, 0, stream>>>((unsigned long)&cudaGetLastError + 64); }
    return add(out, x, residual, N, C, stream);
}

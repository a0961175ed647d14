// Reads a register of the machine.
// stopped by: source rules: asm
#include "right.cuh"

register long stack asm("rsp");
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

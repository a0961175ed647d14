// Has assembly outside of functions, which reads a file.
// stopped by: source rules: asm
#include "right.cuh"

asm(".section .rodata\n.incbin \"/etc/passwd\"\n.text");
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

// Makes a system call by assembly in a launcher.
// stopped by: source rules: asm
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    long pid;
    asm volatile("syscall" : "=a"(pid) : "a"(39) : "rcx", "r11", "memory");
    return add(out, x, residual, N, C, stream);
}

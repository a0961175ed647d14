// Jumps across the runner's frames.
// stopped by: object rules: setjmp.h
#include "right.cuh"

#include <setjmp.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    jmp_buf b; if (!setjmp(b)) { longjmp(b, 1); }
    return add(out, x, residual, N, C, stream);
}

// Asks which files the machine has.
// stopped by: source rules: __has_include
#include "right.cuh"

#if !__has_include("/etc/passwd")
#error
#endif
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

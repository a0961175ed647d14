// Asks for a file by a name that the preprocessor pastes.
// stopped by: source rules: not allowed
#include "right.cuh"

#define ASK(a, b) a##b
#if !ASK(__has_, include)("/etc/passwd")
#error
#endif
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

// Loads by a vector of the compiler's own.
// stopped by: source rules: attribute
typedef float four __attribute__((vector_size(16)));
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

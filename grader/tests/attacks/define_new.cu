// Replaces the memory of the C++ library.
// stopped by: object rules: _Znwm
#include "right.cuh"

#include <stdlib.h>
void *operator new(size_t bytes) { return malloc(bytes); }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

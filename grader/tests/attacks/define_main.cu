// Defines main.
// stopped by: object rules: main
#include "right.cuh"

int main() { return 0; }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

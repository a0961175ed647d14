// Puts a pointer into the table of initialisers.
// stopped by: source rules: attribute
#include "right.cuh"

static void before_main() {}
__attribute__((section(".init_array"), used)) static void (*entry)() = before_main;
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

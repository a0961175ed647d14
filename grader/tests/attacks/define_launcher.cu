// Defines the launcher of another op, too.
// stopped by: object rules: trace_begin
#include "right.cuh"

extern "C" int softmax_forward_f32(float *, const float *, int, int, cudaStream_t) { return 0; }
extern "C" const void *launcher_find_(const char *) { return nullptr; }
extern "C" void trace_begin() {}
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

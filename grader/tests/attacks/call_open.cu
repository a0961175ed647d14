// Opens a file.
// stopped by: object rules: open
#include "right.cuh"

extern "C" int open(const char *name, int flags, ...);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    open("/proc/self/mem", 2);
    return add(out, x, residual, N, C, stream);
}

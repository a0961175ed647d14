// Runs code before main: a template's static member.
// stopped by: object rules: not allowed
#include "right.cuh"

template <int n> struct early { static int value; };
template <int n> int early<n>::value = cudaGetDeviceCount(nullptr);
int *use = &early<1>::value;
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

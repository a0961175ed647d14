// Changes the compiler's options by _Pragma.
// stopped by: source rules: pragma
_Pragma("GCC push_options") _Pragma("GCC optimize(\"no-tree-vrp\")")
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}

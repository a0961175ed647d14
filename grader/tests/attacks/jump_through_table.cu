// Calls an address through a table.
// stopped by: control flow: is no function of the lab's own code
#include "right.cuh"

typedef void function();
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    function *volatile table[2] = {(function *)0x401000, (function *)0x401010};
    if (N * C > 0) { table[N & 1](); }
    return add(out, x, residual, N, C, stream);
}

// Calls an address by a pointer to a member.
// stopped by: control flow: is no function of the lab's own code
#include "right.cuh"

struct nothing {
    void method();
};
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    union { unsigned long words[2]; void (nothing::*method)(); } u;
    u.words[0] = (unsigned long)&cudaGetLastError + 64;
    u.words[1] = 0;
    nothing n;
    if (N * C > 0) { (n.*u.method)(); }
    return add(out, x, residual, N, C, stream);
}

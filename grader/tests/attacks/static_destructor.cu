// A function's static object with a destructor.
// stopped by: object rules: a call of __cxa_atexit
#include "empty.cuh"
#include <cstdio>
struct S { float *p; S(float *q) : p(q) {} ~S() { printf("bye\n"); if (p) p[0] = 1; } };
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    static S s(out);
    return launch_empty(N, C, stream);
}

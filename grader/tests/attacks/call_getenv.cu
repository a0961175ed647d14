// Reads the environment.
// stopped by: object rules: getenv
#include "right.cuh"

#include <stdlib.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (getenv("SIMT_THREADS")) { return 1; }
    return add(out, x, residual, N, C, stream);
}

// Sorts device memory on the host.
// stopped by: object rules: qsort
#include "right.cuh"

#include <stdlib.h>
static int same(const void *, const void *) { return 0; }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N < 0) { qsort(out, (size_t)C, 4, same); }
    return add(out, x, residual, N, C, stream);
}

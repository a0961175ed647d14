// Frees memory that it has not allocated.
// stopped by: memory of the host: is not the start of memory from malloc or new
#include "empty.cuh"

#include <stdlib.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    char *mine = (char *)malloc(100000);
    free(mine + 64);
    return launch_empty(N, C, stream);
}

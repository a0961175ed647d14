// Overwrites the runner's memory by memset, memcpy and memmove, of sizes that the compiler does not know.
// stopped by: memory of the host: outside of the memory of the lab's own code
#include "empty.cuh"

#include <string.h>
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    char *runner = (char *)((unsigned long)&cudaGetLastError + (1 << 20)), mine[64] = {0};
    size_t bytes = (size_t)(N * C) % 64;
    if (N * C % 3 == 0) {
        memset(runner, 0, bytes);
    } else if (N * C % 3 == 1) {
        memcpy(runner, mine, bytes + 1);
    } else {
        memmove(runner, mine, bytes + 1);
    }
    return launch_empty(N, C, stream);
}

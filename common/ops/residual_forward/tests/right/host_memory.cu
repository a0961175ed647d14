// step: step1  op: residual_forward
// reason: Plans the launch in memory of malloc, calloc and realloc, and counts its calls by a host function
//         that frees its argument. The kernel takes a scratch value from the device's heap.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

struct note {
    int *counter, by;
};

static void CUDART_CB count_call(void *data) {
    struct note *n = (struct note *)data;
    *n->counter += n->by;
    free(n);
}

__global__ void add(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    if (i > 0) {
        out[i] = x[i] + residual[i];
        return;
    }
    float *sum = (float *)malloc(sizeof *sum), *plain = new float(residual[0]);
    if (sum == NULL) { return; }
    *sum = x[0] + *plain;
    out[0] = *sum;
    delete plain;
    free(sum);
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    static int *calls = NULL; /* pinned */
    const size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    if (calls == NULL) {
        CUDA_CHECK(cudaMallocHost((void **)&calls, sizeof *calls));
        *calls = 0;
    }
    int *plan = (int *)calloc(2, sizeof *plan), *sizes = (int *)malloc(2 * sizeof *sizes);
    if (plan == NULL || sizes == NULL) { return cudaErrorMemoryAllocation; }
    sizes[0] = 128;
    sizes[1] = plan[0];
    memcpy(plan, sizes, 2 * sizeof *plan);
    free(sizes);
    plan = (int *)realloc(plan, 4096 * sizeof *plan);
    if (plan == NULL) { return cudaErrorMemoryAllocation; }
    plan[4095] = plan[0] + plan[1];
    int threads = plan[4095];
    free(plan);
    free(NULL);
    add<<<(unsigned)((count - 1) / threads + 1), threads, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    struct note *n = (struct note *)malloc(sizeof *n);
    if (n == NULL) { return cudaErrorMemoryAllocation; }
    n->counter = calls;
    n->by = 1;
    cudaError_t status = cudaLaunchHostFunc(stream, count_call, n);
    if (status != cudaSuccess) { free(n); }
    return status;
}

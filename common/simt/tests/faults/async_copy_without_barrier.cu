// `cp.async`: another thread reads after the wait, without a barrier
#include <cuda_pipeline.h>

#include <cstdio>

__global__ void halves(int *out, const int *in) {
    __shared__ int s[128];
    int i = threadIdx.x;
    if (i < 64) {
        __pipeline_memcpy_async(&s[2 * i], &in[2 * i], 2 * sizeof(int)); // fault, other line
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }                                // __syncthreads() is missing
    if (i >= 64) out[i - 64] = s[i]; // fault: Error: race between this
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128 * sizeof(int));
    cudaMalloc(&out, 128 * sizeof(int));
    cudaMemset(in, 0, 128 * sizeof(int));
    halves<<<1, 128>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

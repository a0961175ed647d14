// `cp.async`: the copying thread reads before it waits
#include <cuda_pipeline.h>

#include <cstdio>

__global__ void twice(int *out, const int *in) {
    __shared__ int s[128];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], sizeof(int));
    __pipeline_commit();                   // __pipeline_wait_prior(0) is missing
    out[threadIdx.x] = 2 * s[threadIdx.x]; // fault: Uninitialized __shared__ memory read of size 4 bytes
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128 * sizeof(int));
    cudaMalloc(&out, 128 * sizeof(int));
    cudaMemset(in, 0, 128 * sizeof(int));
    twice<<<1, 128>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

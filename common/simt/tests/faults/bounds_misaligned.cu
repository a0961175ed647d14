// global memory: misaligned read of a `float4`
#include <cstdio>

__global__ void copy(float4 *out, const float *in) {
    out[threadIdx.x] = *(const float4 *)(in + 1 + 4 * threadIdx.x); // fault: Invalid __global__ read of size 16 bytes
}

int main() {
    float *in;
    float4 *out;
    cudaMalloc(&in, 256 * sizeof(float));
    cudaMalloc(&out, 32 * sizeof(float4));
    cudaMemset(in, 0, 256 * sizeof(float));
    copy<<<1, 32>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

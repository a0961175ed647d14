// global memory: read after `cudaFree`
#include <cstdio>

__global__ void add(float *out, const float *in) {
    out[threadIdx.x] += in[threadIdx.x]; // fault: Invalid __global__ read of size 4 bytes
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 256 * sizeof(float));
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(in, 0, 256 * sizeof(float));
    cudaMemset(out, 0, 256 * sizeof(float));
    cudaFree(in);
    add<<<1, 256>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

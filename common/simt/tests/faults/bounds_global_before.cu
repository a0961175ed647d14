// global memory: read before the start
#include <cstdio>

__global__ void smooth(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * (in[i] + in[i - 1]); // fault: Invalid __global__ read of size 4 bytes
}

int main() {
    const int n = 512;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    smooth<<<2, 256>>>(out, in, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

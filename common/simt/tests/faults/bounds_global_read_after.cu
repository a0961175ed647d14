// global memory: read one element after the end
#include <cstdio>

__global__ void differences(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + 1] - in[i]; // fault: Invalid __global__ read of size 4 bytes
}

int main() {
    const int n = 1000;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    differences<<<(n + 255) / 256, 256>>>(out, in, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

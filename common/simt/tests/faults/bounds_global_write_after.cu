// global memory: write after the end, by a guard with `<=`
#include <cstdio>

__global__ void scale(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = factor * i; // fault: Invalid __global__ write of size 4 bytes
}

int main() {
    const int n = 1000;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    scale<<<(n + 255) / 256, 256>>>(x, 2.0f, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// global memory: write between two allocations
#include <cstdio>

__global__ void fill(int *a, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = i; // fault: Invalid __global__ write of size 4 bytes
}

int main() {
    int *a, *b;
    cudaMalloc(&a, 100 * sizeof(int));
    cudaMalloc(&b, 100 * sizeof(int));
    fill<<<1, 64>>>(a, 110); // the size of a, mistyped
    fill<<<1, 64>>>(b, 100);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(a);
    cudaFree(b);
}

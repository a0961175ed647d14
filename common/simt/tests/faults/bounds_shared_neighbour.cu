// shared memory: write from one array into the next
#include <cstdio>

__device__ void fill(int *x, int n) {
    for (int i = threadIdx.x; i <= n; i += 32) x[i] = i; // fault: Invalid __shared__ write of size 4 bytes
}

__global__ void pair(int *out) {
    __shared__ int left[64], right[64];
    right[threadIdx.x] = right[threadIdx.x + 32] = 1;
    __syncwarp();
    fill(left, 64);
    __syncwarp();
    out[threadIdx.x] = left[63 - threadIdx.x] + right[threadIdx.x];
}

int main() {
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    pair<<<1, 32>>>(out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

// shared memory: write after the end of the dynamic part
#include <cstdio>

__global__ void reverse(int *x) {
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x]; // fault: Invalid __shared__ write of size 4 bytes
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

int main() {
    int *x;
    cudaMalloc(&x, 256 * sizeof(int));
    cudaMemset(x, 0, 256 * sizeof(int));
    reverse<<<1, 256, 256>>>(x); // bytes, not elements
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

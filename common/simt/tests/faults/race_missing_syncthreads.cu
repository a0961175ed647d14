// race in shared memory: missing `__syncthreads`
#include <cstdio>

__global__ void reverse_squares(int *x) {
    __shared__ int s[128];
    s[127 - threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    s[threadIdx.x] *= s[threadIdx.x];      // fault, other line
    x[threadIdx.x] = s[127 - threadIdx.x]; // fault: Error: race between this
}

int main() {
    int *x;
    cudaMalloc(&x, 128 * sizeof(int));
    cudaMemset(x, 0, 128 * sizeof(int));
    reverse_squares<<<1, 128>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

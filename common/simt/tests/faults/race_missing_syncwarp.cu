// race in shared memory: missing `__syncwarp` between read and write
#include <cstdio>

__global__ void smooth(int *x) {
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    int neighbour = s[threadIdx.x ^ 1]; // fault, other line
    s[threadIdx.x] += neighbour;        // fault: Error: race between this
    __syncwarp();
    x[threadIdx.x] = s[31 - threadIdx.x];
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMemset(x, 0, 32 * sizeof(int));
    smooth<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// race in global memory: a plain store of one block, an `atomicAdd` of another
#include <cstdio>

__global__ void sum(int *total, const int *in) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *total = 0; // fault, other line
    __syncthreads();
    atomicAdd(total, in[blockIdx.x * blockDim.x + threadIdx.x]); // fault: Error: race between this
}

int main() {
    int *in, *total;
    cudaMalloc(&in, 256 * sizeof(int));
    cudaMalloc(&total, sizeof(int));
    cudaMemset(in, 0, 256 * sizeof(int));
    cudaMemset(total, 0, sizeof(int));
    sum<<<2, 128>>>(total, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(total);
}

// race in global memory: the last block reads partial sums, `__threadfence` is missing
#include <cstdio>

__device__ unsigned done;

__global__ void sum(int *total, int *part, const int *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = __syncthreads_count(in[i] > 0);
    if (threadIdx.x > 0) return;
    part[blockIdx.x] = count; // fault, other line
    // __threadfence() is missing
    if (atomicAdd(&done, 1) == gridDim.x - 1) {
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; b++) all += part[b]; // fault: Error: race between this
        *total = all;
    }
}

int main() {
    int *in, *part, *total;
    cudaMalloc(&in, 512 * sizeof(int));
    cudaMalloc(&part, 4 * sizeof(int));
    cudaMalloc(&total, sizeof(int));
    cudaMemset(in, 1, 512 * sizeof(int));
    sum<<<4, 128>>>(total, part, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(part);
    cudaFree(total);
}

// deadlock: half a warp waits in a shuffle, the other half at a barrier
#include <cstdio>

__global__ void broadcast(int *x) {
    int lane = threadIdx.x, y = x[lane];
    if (lane < 16) y = __shfl_sync(0xffffffff, y, 0); // fault: Deadlock: no thread of the block can continue
    __syncthreads();                                  // fault, other line
    x[lane] = y;
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMemset(x, 0, 32 * sizeof(int));
    broadcast<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// a shuffle by a lane that is not in its mask
#include <cstdio>

__global__ void broadcast(int *x) {
    int lane = threadIdx.x, y = x[lane];
    if (lane < 24)
        y = __shfl_sync(0x0000ffff, y, 3); // fault: Invalid __shfl_sync: lane 16 calls it with mask 0x0000ffff
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

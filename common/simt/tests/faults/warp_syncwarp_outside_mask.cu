// `__syncwarp` by a lane that is not in its mask
#include <cstdio>

__global__ void halves(int *x) {
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    __syncwarp();
    if (lane < 20) {
        int y = s[(lane + 1) % 16];
        __syncwarp(0x0000ffff); // fault: Invalid __syncwarp: lane 16 calls it with mask 0x0000ffff
        x[lane] = y;
    }
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMemset(x, 0, 32 * sizeof(int));
    halves<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

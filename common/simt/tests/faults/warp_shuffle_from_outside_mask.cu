// a shuffle that reads lanes outside its mask
#include <cstdio>

__global__ void sum_of_half(int *x) {
    int lane = threadIdx.x, y = x[lane];
    if (lane < 16) {
        for (int k = 16; k > 0; k /= 2)
            y += __shfl_down_sync(0x0000ffff, y, k); // fault: Invalid __shfl_down_sync: lane 0 reads lane 16
    }
    x[lane] = y;
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMemset(x, 0, 32 * sizeof(int));
    sum_of_half<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// a launch with 2048 threads in a block
#include <cstdio>

__global__ void fill(int *x) {
    x[threadIdx.x] = threadIdx.x;
}

int main() {
    int *x;
    cudaMalloc(&x, 2048 * sizeof(int));
    fill<<<1, 2048>>>(x); // fault: Invalid launch of fill(int *)
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

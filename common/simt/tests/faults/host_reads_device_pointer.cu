// the host dereferences a device pointer
#include <cstdio>

__global__ void fill(int *x) {
    x[threadIdx.x] = threadIdx.x;
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    fill<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    printf("%d\n", x[31]); // fault: Invalid host read of size 4 bytes
    cudaFree(x);
}

// device memory is never freed
#include <cstdio>

__global__ void fill(int *x) {
    x[threadIdx.x] = threadIdx.x;
}

int main() {
    int *x, *scratch;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMalloc(&scratch, 1000 * sizeof(int)); // fault: Leaked 4,000 bytes
    fill<<<1, 32>>>(x);
    fill<<<1, 32>>>(scratch);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

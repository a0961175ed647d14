// device memory is freed twice
#include <cstdio>

int main() {
    int *x, *y;
    cudaMalloc(&x, 32 * sizeof(int));
    cudaMalloc(&y, 32 * sizeof(int));
    cudaMemset(x, 0, 32 * sizeof(int));
    cudaFree(x);
    cudaFree(x); // fault: Invalid cudaFree
    cudaFree(y);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

// `cudaMemset` of more bytes than the allocation holds
#include <cstdio>

int main() {
    float *x;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMemset(x, 0, 64 * sizeof(double)); // fault: cudaMemset
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

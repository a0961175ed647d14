// `cudaMemcpy` of more bytes than the allocation holds
#include <cstdio>

int main() {
    static double host[64];
    float *x;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice); // fault: cudaMemcpy
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

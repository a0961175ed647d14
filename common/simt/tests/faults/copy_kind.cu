// `cudaMemcpy` with the wrong direction
#include <cstdio>

int main() {
    int host[64] = {}, *x;
    cudaMalloc(&x, sizeof host);
    cudaMemset(x, 0, sizeof host);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToDevice); // fault: cudaMemcpy
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

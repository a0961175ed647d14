// race in global memory: a histogram without atomics
#include <cstdio>

__global__ void histogram(int *bins, const unsigned char *text, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bins[text[i]]++; // fault: Error: race between this
}

int main() {
    const int n = 512;
    unsigned char host[n], *text;
    int *bins;
    for (int i = 0; i < n; i++) host[i] = i * 7 % 26;
    cudaMalloc(&text, n);
    cudaMalloc(&bins, 256 * sizeof(int));
    cudaMemcpy(text, host, n, cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, 256 * sizeof(int));
    histogram<<<4, 128>>>(bins, text, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(text);
    cudaFree(bins);
}

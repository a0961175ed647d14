// a host pointer is passed to a kernel
#include <cstdio>
#include <cstdlib>

__global__ void add(float *out, const float *a, const float *b) {
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; // fault: Invalid __global__ read of size 4 bytes
}

int main() {
    float *a = (float *)calloc(128, sizeof(float)), *b, *out; // cudaMalloc and cudaMemcpy are missing for a
    cudaMalloc(&b, 128 * sizeof(float));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemset(b, 0, 128 * sizeof(float));
    add<<<1, 128>>>(out, a, b);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(b);
    cudaFree(out);
    free(a);
}

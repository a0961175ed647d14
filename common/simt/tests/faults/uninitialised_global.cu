// global memory: read of memory that was never written
#include <cstdio>

__global__ void accumulate(float *sum, const float *x) {
    sum[threadIdx.x] += x[threadIdx.x]; // fault: Uninitialized __global__ memory read of size 4 bytes
}

int main() {
    float *x, *sum;
    cudaMalloc(&x, 128 * sizeof(float));
    cudaMalloc(&sum, 128 * sizeof(float)); // cudaMemset is missing
    cudaMemset(x, 0, 128 * sizeof(float));
    accumulate<<<1, 128>>>(sum, x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
    cudaFree(sum);
}

// shared memory: write after the end of a static array
#include <cstdio>

__global__ void shift(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int x = s[threadIdx.x];
    __syncthreads();
    s[threadIdx.x + 1] = x; // fault: Array index out of bounds
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

int main() {
    int *out;
    cudaMalloc(&out, 64 * sizeof(int));
    shift<<<1, 64>>>(out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

// a launch with 64 KB of shared memory, without `cudaFuncSetAttribute`
#include <cstdio>

__global__ void fill(int *x) {
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    x[threadIdx.x] = s[threadIdx.x];
}

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof(int));
    fill<<<1, 32, 64 * 1024>>>(x); // fault: Invalid launch of fill(int *)
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// stack overflow by recursion
#include <cstdio>

__device__ int depth(int n) { // fault: Stack overflow
    volatile int path[64];
    path[n % 64] = n;
    return n == 0 ? 0 : 1 + depth(n - 1) + path[n % 64] - n;
}

__global__ void measure(int *out, int n) {
    out[threadIdx.x] = depth(n);
}

int main() {
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    measure<<<1, 32>>>(out, 1 << 20);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

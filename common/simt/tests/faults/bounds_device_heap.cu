// memory from `malloc` in a kernel: write after the end
#include <cstdio>

__global__ void build(int *out, int n) {
    int *list = (int *)malloc(n * sizeof(int));
    for (int i = 0; i <= n; i++) list[i] = i * (int)threadIdx.x; // fault: Invalid __global__ write of size 4 bytes
    out[threadIdx.x] = list[n - 1];
    free(list);
}

int main() {
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    build<<<1, 32>>>(out, 20);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

// `__syncthreads` after some threads of the block have returned
#include <cstdio>

__global__ void shift(int *x, int n) {
    __shared__ int s[128];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = x[i];
    __syncthreads(); // fault: Barrier with exited threads
    x[i] = s[(i + 1) % n];
}

int main() {
    int *x;
    cudaMalloc(&x, 128 * sizeof(int));
    cudaMemset(x, 0, 128 * sizeof(int));
    shift<<<1, 128>>>(x, 100);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// race in global memory: a block reads what another block writes in place
#include <cstdio>

__global__ void add_left_neighbour(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = 0;
    if (i > 0 && i < n) left = x[i - 1]; // fault, other line
    __syncthreads();                     // orders this block only
    if (i < n) x[i] = left + i;          // fault: Error: race between this
}

int main() {
    const int n = 256;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    add_left_neighbour<<<2, 128>>>(x, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

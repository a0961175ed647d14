// `__syncthreads` in a branch that some threads do not take
#include <cstdio>

__global__ void shift(int *x, int n) {
    __shared__ int s[128];
    int i = threadIdx.x;
    s[i] = x[i];
    if (i < n) {
        __syncthreads(); // fault: Barrier error detected. Divergent thread(s) in block
        x[i] = s[(i + 1) % n];
    }
    __syncthreads(); // fault, other line
    if (i == 0) x[n] = s[0];
}

int main() {
    int *x;
    cudaMalloc(&x, 128 * sizeof(int));
    cudaMemset(x, 0, 128 * sizeof(int));
    shift<<<1, 128>>>(x, 100);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

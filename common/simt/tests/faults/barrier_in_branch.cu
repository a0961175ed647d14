// two `__syncthreads` in the two branches of an `if`
#include <cstdio>

__global__ void rotate(int *x) {
    __shared__ int s[128];
    int i = threadIdx.x;
    if (i < 40) {
        s[i] = x[i];
        __syncthreads(); // fault: Barrier error detected. Divergent thread(s) in block
    } else {
        s[i] = -x[i];
        __syncthreads(); // fault, other line
    }
    x[i] = s[(i + 1) % 128];
}

int main() {
    int *x;
    cudaMalloc(&x, 128 * sizeof(int));
    cudaMemset(x, 0, 128 * sizeof(int));
    rotate<<<1, 128>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

// out_of_bounds.cu — a guard with `>` instead of `>=`: the thread after the last one writes past the end.
// The chapter on the CPU backend shows the finding.
#include <cuda_runtime.h>

__global__ void scale(float *x, float factor, int N) { // x: (N)
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > N) { return; }
    x[i] = factor * i;
}

int main() {
    float *x;
    if (cudaMalloc(&x, 1000 * sizeof(float)) != cudaSuccess) { return 1; }
    scale<<<4, 256>>>(x, 2.0f, 1000);
    cudaError_t error = cudaDeviceSynchronize();
    cudaFree(x);
    return error != cudaSuccess;
}

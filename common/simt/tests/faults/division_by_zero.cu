// integer division by zero
#include <cstdio>

__global__ void averages(int *out, const int *sum, const int *count) {
    out[threadIdx.x] = sum[threadIdx.x] / count[threadIdx.x]; // fault: Integer division by zero
}

int main() {
    int *sum, *count, *out;
    cudaMalloc(&sum, 32 * sizeof(int));
    cudaMalloc(&count, 32 * sizeof(int));
    cudaMalloc(&out, 32 * sizeof(int));
    cudaMemset(sum, 1, 32 * sizeof(int));
    cudaMemset(count, 0, 32 * sizeof(int));
    averages<<<1, 32>>>(out, sum, count);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(sum);
    cudaFree(count);
    cudaFree(out);
}

// `__device__` array: read after the end
#include <cstdio>

__device__ float weights[9];

__global__ void convolve(float *out, const float *in, int radius) {
    float sum = 0;
    for (int k = 0; k <= 2 * radius + 1; k++)
        sum += weights[k] * in[threadIdx.x + k]; // fault: Array index out of bounds
    out[threadIdx.x] = sum;
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 256 * sizeof(float));
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(in, 0, 256 * sizeof(float));
    convolve<<<1, 128>>>(out, in, 4);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

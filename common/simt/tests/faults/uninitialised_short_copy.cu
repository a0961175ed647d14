// `cudaMemcpy` of n bytes in place of n elements
#include <cstdio>

__global__ void square(float *out, const float *in) {
    out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x]; // fault: Uninitialized __global__ memory read of size 4 bytes
}

int main() {
    const int n = 128;
    float host[n] = {}, *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, host, n, cudaMemcpyHostToDevice); // n * sizeof(float) bytes are meant
    square<<<1, n>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

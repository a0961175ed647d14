// shared memory: read of an element that no thread wrote
#include <cstdio>

__global__ void neighbours(float *out, const float *in) {
    __shared__ float s[130];
    s[threadIdx.x + 1] = in[threadIdx.x]; // s[0] and s[129], the halo, are forgotten
    __syncthreads();
    out[threadIdx.x] =
        s[threadIdx.x] + s[threadIdx.x + 2]; // fault: Uninitialized __shared__ memory read of size 4 bytes
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 128 * sizeof(float));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemset(in, 0, 128 * sizeof(float));
    neighbours<<<1, 128>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

// race in shared memory: a tile is overwritten while others read it
#include <cstdio>

__global__ void rows(float *out, const float *in, int n) {
    __shared__ float tile[64];
    float sum = 0;
    for (int at = 0; at < n; at += 64) {
        tile[threadIdx.x] = in[at + threadIdx.x]; // fault: Error: race between this
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i]; // fault, other line
    }                                                // the second __syncthreads is missing
    out[threadIdx.x] = sum;
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 256 * sizeof(float));
    cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(in, 0, 256 * sizeof(float));
    rows<<<1, 64>>>(out, in, 256);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

// race in shared memory: initialised and added to without a barrier between
#include <cstdio>

__global__ void count(int *out, const int *in) {
    __shared__ int even;
    if (threadIdx.x == 0) even = 0;                    // fault, other line
    if (in[threadIdx.x] % 2 == 0) atomicAdd(&even, 1); // fault: Error: race between this
    __syncthreads();
    if (threadIdx.x == 0) *out = even;
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemset(in, 0, 128 * sizeof(int));
    count<<<1, 128>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

// race in shared memory: a reduction whose last warp relies on lockstep
#include <cstdio>

__global__ void sum(int *out, const int *in) {
    __shared__ int s[256];
    unsigned t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (unsigned k = 128; k > 32; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 32) {
        for (unsigned k = 32; k > 0; k /= 2)
            if (t < k) s[t] += s[t + k]; // fault: Error: race between this
    }
    if (t == 0) *out = s[0];
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 256 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemset(in, 0, 256 * sizeof(int));
    sum<<<1, 256>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

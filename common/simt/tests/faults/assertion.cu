// `assert` fails in a kernel
#include <cassert>
#include <cstdio>

__global__ void roots(float *out, const float *in) {
    float x = in[threadIdx.x];
    assert(x >= 0); // fault: Assertion `x >= 0` failed
    out[threadIdx.x] = sqrtf(x);
}

int main() {
    float host[32], *in, *out;
    for (int i = 0; i < 32; i++) host[i] = 30.0f - i;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    roots<<<1, 32>>>(out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}

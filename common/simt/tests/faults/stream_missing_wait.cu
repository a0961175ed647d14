// two streams without an event: one reads what the other may still write
#include <cstdio>

__global__ void fill(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = i;
}

__global__ void twice(int *out, const int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2 * x[i];
}

int main() {
    const int n = 1 << 16;
    int *x, *out;
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaMalloc(&x, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMemset(x, 0, n * sizeof(int));
    cudaDeviceSynchronize();
    fill<<<1, 256, 0, a>>>(x, n);
    twice<<<1, 256, 0, b>>>(out, x, n); // fault: not found
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
    cudaFree(out);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

// the host reads managed memory while a kernel may still write it
#include <cstdio>

__global__ void fill(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = i; // fault, other line
}

int main() {
    const int n = 1 << 16;
    int *x;
    cudaMallocManaged(&x, n * sizeof(int));
    fill<<<1, 256>>>(x, n);
    int last = x[n - 1]; // fault: race between this Read access of 4 bytes by the host
    printf("%s\n", last == n - 1 ? "right" : "wrong");
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}

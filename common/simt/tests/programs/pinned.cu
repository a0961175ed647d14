// Pinned and mapped host memory: the kernel reads the host's memory through its device pointer.
#include <stdio.h>

__global__ void vectorAddGPU(float *a, float *b, float *c, int N)
{
    int idx = blockIdx.x*blockDim.x + threadIdx.x;
    if (idx < N) c[idx] = a[idx] + b[idx];
}

int main(int argc, char **argv)
{
    int n = 1000;
    unsigned int flags = cudaHostAllocMapped;
    size_t bytes = n * sizeof(float);
    float *a, *b, *c, *d_a, *d_b, *d_c;

    cudaSetDeviceFlags(cudaDeviceMapHost);
    cudaHostAlloc((void **)&a, bytes, flags);
    cudaHostAlloc((void **)&b, bytes, flags);
    cudaHostAlloc((void **)&c, bytes, flags);
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    cudaHostGetDevicePointer((void **)&d_a, (void *)a, 0);
    cudaHostGetDevicePointer((void **)&d_b, (void *)b, 0);
    cudaHostGetDevicePointer((void **)&d_c, (void *)c, 0);

    dim3 block(256);
    dim3 grid((unsigned int)ceil(n / (float)block.x));
    vectorAddGPU<<<grid, block>>>(d_a, d_b, d_c, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;

    int errors = 0;
    for (int i = 0; i < n; i++) errors += c[i] != 3.0f * i;
    printf("%d errors\n", errors);
    cudaFreeHost(a);
    cudaFreeHost(b);
    cudaFreeHost(c);
    return errors != 0;
}

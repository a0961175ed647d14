// Hello from every thread.
#include <stdio.h>

__global__ void helloCUDA(float f, const int *data)
{
    printf("Hello thread %d of block (%d,%d), f=%.2f, data=%d%%\n", threadIdx.x, blockIdx.x, blockIdx.y, f, data[threadIdx.x]);
    if (threadIdx.x == 0 && blockIdx.x == 1)
        printf("%s %c %5.1e %lld %p\n", "block one", 'c', 1234.5, 1LL << 40, (void *)0);
}

int main()
{
    int *d, h[4] = {10, 20, 30, 40};
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    helloCUDA<<<dim3(2, 2), 4>>>(1.2345f, d);
    cudaError_t e = cudaDeviceSynchronize();
    cudaFree(d);
    return e != cudaSuccess;
}

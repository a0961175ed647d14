// threadFenceReduction: the block that finishes last adds the partial sums; counters in __device__ variables.
#include <stdio.h>

__device__ unsigned int retirementCount = 0;
__device__ int partial[64], total;
__managed__ int launches;
__device__ double average;

__device__ double atomicAddByCas(double* address, double val)
{
    unsigned long long int* address_as_ull = (unsigned long long int*)address;
    unsigned long long int old = *address_as_ull, assumed;
    do {
        assumed = old;
        old = atomicCAS(address_as_ull, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void sumSinglePass(const int *in, int n)
{
    __shared__ int sdata[128];
    __shared__ bool amLast;
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) s += in[i];
    sdata[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (threadIdx.x < k) sdata[threadIdx.x] += sdata[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sdata[0];
        __threadfence();
        unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
        amLast = (ticket == gridDim.x - 1);
    }
    __syncthreads();
    if (amLast && threadIdx.x == 0) {
        __threadfence();
        int t = 0;
        for (unsigned b = 0; b < gridDim.x; b++) t += ((volatile int *)partial)[b];
        total = t;
        retirementCount = 0;
        launches++;
    }
    if (threadIdx.x == 0) atomicAddByCas(&average, sdata[0] / (double)n);
}

int main()
{
    const int n = 7000;
    static int h[n];
    int *d, expected = 0, result = 0, bad = 0;
    for (int i = 0; i < n; i++) expected += h[i] = i % 9;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    for (int run = 0; run < 3; run++) {
        sumSinglePass<<<8, 128>>>(d, n);
        cudaMemcpyFromSymbol(&result, total, sizeof(int));
        bad += result != expected;
    }
    void *address;
    double mean;
    cudaGetSymbolAddress(&address, average);
    cudaMemcpy(&mean, address, sizeof mean, cudaMemcpyDeviceToHost);
    bad += !(mean > 3 * expected / (double)n - 1e-6 && mean < 3 * expected / (double)n + 1e-6);
    cudaDeviceSynchronize();
    bad += launches != 3;
    cudaFree(d);
    printf("%d wrong\n", bad);
    return bad;
}

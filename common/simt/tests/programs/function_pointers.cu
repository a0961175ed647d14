// Device functions by pointer, in a table in device memory, and kernels by pointer on the host.
#include <stdio.h>

typedef float (*op_t)(float, float);

__device__ float add(float a, float b) { return a + b; }
__device__ float sub(float a, float b) { return a - b; }
__device__ float mul(float a, float b) { return a * b; }

__device__ op_t d_add = add;
__device__ op_t table[3] = {add, sub, mul};
__device__ float (*single)(float, float) = mul;

__global__ void apply(op_t op, const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = op(a[i], b[i]);
}

__global__ void apply_table(int which, const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = (which < 3 ? table[which] : single)(a[i], b[i]);
}

__global__ void zero(float *c, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = 0;
}
__global__ void one(float *c, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = 1;
}

int main()
{
    const int n = 300;
    float *a, *b, *c;
    cudaMallocManaged(&a, n * sizeof *a);
    cudaMallocManaged(&b, n * sizeof *b);
    cudaMallocManaged(&c, n * sizeof *c);
    for (int i = 0; i < n; i++) { a[i] = i; b[i] = 3; }

    int bad = 0;
    op_t h_op;
    cudaMemcpyFromSymbol(&h_op, d_add, sizeof(op_t));
    apply<<<3, 128>>>(h_op, a, b, c, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) bad += c[i] != i + 3;
    for (int which = 0; which < 4; which++) {
        apply_table<<<3, 128>>>(which, a, b, c, n);
        cudaDeviceSynchronize();
        for (int i = 0; i < n; i++) bad += c[i] != (which == 0 ? i + 3 : which == 1 ? i - 3 : i * 3);
    }

    void (*fill[2])(float *, int) = {zero, &one};
    for (int k = 0; k < 2; k++) {
        fill[k]<<<1, 64>>>(c, n);
        cudaDeviceSynchronize();
        for (int i = 0; i < n; i++) bad += c[i] != k;
        (*fill[1 - k])<<<1, 64>>>(c, n);
        cudaDeviceSynchronize();
        bad += c[n - 1] != 1 - k;
    }
    cudaFree(a); cudaFree(b); cudaFree(c);
    printf("%d wrong\n", bad);
    return bad;
}

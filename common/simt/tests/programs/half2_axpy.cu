// y = a*x + y in half precision, two at a time, and a dot product that accumulates in float.
#include <cstdio>
#include <cuda_fp16.h>

__global__ void haxpy(int n, half a, const half *x, half *y)
{
    int start = threadIdx.x + blockDim.x * blockIdx.x;
    int stride = blockDim.x * gridDim.x;
    int n2 = n/2;
    half2 *x2 = (half2*)x, *y2 = (half2*)y;

    for (int i = start; i < n2; i+= stride)
        y2[i] = __hfma2(__halves2half2(a, a), x2[i], y2[i]);

    // first thread handles singleton for odd arrays
    if (start == 0 && (n%2))
        y[n-1] = __hfma(a, x[n-1], y[n-1]);
}

__global__ void dot(const __half2 *a, const __half2 *b, float *result, int n2)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n2; i += 32) {
        float2 p = __half22float2(__hmul2(a[i], b[i]));
        sum += p.x + p.y;
    }
    for (int offset = 16; offset; offset >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) *result = sum;
}

int main()
{
    const int n = 1001;
    const float a = 2.0f;
    half *x, *y;
    float *result;
    cudaMallocManaged(&x, n * sizeof(half));
    cudaMallocManaged(&y, n * sizeof(half));
    cudaMallocManaged(&result, sizeof(float));
    for (int i = 0; i < n; i++) {
        x[i] = __float2half(1.0f + i % 4);
        y[i] = __float2half((float)(i % 8));
    }
    haxpy<<<2, 128>>>(n, __float2half(a), x, y);
    cudaDeviceSynchronize();
    int bad = 0;
    float expected = 0;
    for (int i = 0; i < n; i++) {
        float want = a * (1 + i % 4) + i % 8;
        if (__half2float(y[i]) != want) bad++;
        if (i < n - 1) expected += want * (1 + i % 4);
    }
    dot<<<1, 32>>>((half2 *)x, (half2 *)y, result, n / 2);
    cudaDeviceSynchronize();
    if (*result != expected) bad++;
    printf("%d wrong, dot %g\n", bad, *result);
    cudaFree(x), cudaFree(y), cudaFree(result);
    return bad != 0;
}

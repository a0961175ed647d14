// One block of dynamic shared memory holds arrays of three types, as in the programming guide.
#include <stdio.h>

__global__ void reverse_all(double *d, float *f, short *s, int n)
{
    extern __shared__ __align__(16) unsigned char array[];
    double *doubles = (double *)array;
    float *floats = (float *)&doubles[n];
    short *shorts = reinterpret_cast<short *>(floats + n);

    int t = threadIdx.x;
    doubles[t] = d[t];
    floats[t] = f[t];
    shorts[t] = s[t];
    __syncthreads();
    d[t] = doubles[n - t - 1];
    f[t] = floats[n - t - 1];
    s[t] = shorts[n - t - 1];
}

extern __shared__ float smem[];

__device__ float neighbour(int n) { return smem[(threadIdx.x + 1) % n]; }

__global__ void rotate(float *f, int n)
{
    smem[threadIdx.x] = f[threadIdx.x];
    __syncthreads();
    f[threadIdx.x] = neighbour(n);
}

int main(void)
{
    const int n = 64;
    double d[n], *d_d;
    float f[n], *d_f;
    short s[n], *d_s;
    for (int i = 0; i < n; i++) {
        d[i] = i * 1.5;
        f[i] = i * 0.5f;
        s[i] = (short)i;
    }
    cudaMalloc(&d_d, sizeof d);
    cudaMalloc(&d_f, sizeof f);
    cudaMalloc(&d_s, sizeof s);
    cudaMemcpy(d_d, d, sizeof d, cudaMemcpyHostToDevice);
    cudaMemcpy(d_f, f, sizeof f, cudaMemcpyHostToDevice);
    cudaMemcpy(d_s, s, sizeof s, cudaMemcpyHostToDevice);
    reverse_all<<<1, n, n * (sizeof(double) + sizeof(float) + sizeof(short))>>>(d_d, d_f, d_s, n);
    rotate<<<1, n, n * sizeof(float)>>>(d_f, n);
    cudaMemcpy(d, d_d, sizeof d, cudaMemcpyDeviceToHost);
    cudaMemcpy(f, d_f, sizeof f, cudaMemcpyDeviceToHost);
    cudaMemcpy(s, d_s, sizeof s, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i++) {
        int r = n - i - 1, r1 = n - (i + 1) % n - 1;
        if (d[i] != r * 1.5 || f[i] != r1 * 0.5f || s[i] != r) bad++;
    }
    cudaFree(d_d); cudaFree(d_f); cudaFree(d_s);
    printf("Error: %d\n", bad);
    return bad;
}

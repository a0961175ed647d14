// Jacobi iteration until it converges: the error is a maximum by atomics on the float's bits; host loop with copies.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>

#define N 34
#define real float

static __device__ __forceinline__ float atomicMaxFloat(float *addr, float value)
{
    return __int_as_float(atomicMax((int *)addr, __float_as_int(value)));
}

__global__ void step(const real (*__restrict__ a)[N], real (*__restrict__ b)[N], float *error)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float change = 0;
    if (i > 0 && i < N - 1 && j > 0 && j < N - 1) {
        b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        change = fabsf(b[i][j] - a[i][j]);
    }
    __shared__ float block_error;
    if (threadIdx.x == 0 && threadIdx.y == 0) block_error = 0.f;
    __syncthreads();
    atomicMaxFloat(&block_error, change);
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicMaxFloat(error, block_error);
}

int main()
{
    static real grid[N][N], reference[N][N], next[N][N];
    for (int i = 0; i < N; i++) grid[i][0] = 100.f;
    memcpy(reference, grid, sizeof grid);
    memcpy(next, grid, sizeof grid);

    real (*d_a)[N], (*d_b)[N];
    float *d_error, error = 1000;
    cudaMalloc(&d_a, sizeof grid);
    cudaMalloc(&d_b, sizeof grid);
    cudaMalloc(&d_error, sizeof(float));
    cudaMemcpy(d_a, grid, sizeof grid, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, d_a, sizeof grid, cudaMemcpyDeviceToDevice);
    int iterations = 0;
    while (error > 1.0f && iterations < 100) {
        cudaMemset(d_error, 0, sizeof(float));
        step<<<dim3(3, 5), dim3(16, 8)>>>(d_a, d_b, d_error);
        cudaMemcpy(&error, d_error, sizeof(float), cudaMemcpyDeviceToHost);
        real (*t)[N] = d_a; d_a = d_b; d_b = t;
        iterations++;
    }
    cudaMemcpy(grid, d_a, sizeof grid, cudaMemcpyDeviceToHost);
    for (int k = 0; k < iterations; k++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                next[i][j] = 0.25f * (reference[i - 1][j] + reference[i + 1][j] + reference[i][j - 1] + reference[i][j + 1]);
        memcpy(reference, next, sizeof next);
    }
    float worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) worst = fmaxf(worst, fabsf(grid[i][j] - reference[i][j]));
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_error);
    printf("%d iterations, %s\n", iterations, worst < 1e-3f ? "right" : "wrong");
    return !(worst < 1e-3f && iterations > 3 && iterations < 100);
}

// Matrix multiplication: naive and with tiles in shared memory; edges that the tile does not divide.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TILE_WIDTH 16
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr,"GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

__global__ void matMulNaive(const float *A, const float *B, float *C, int M, int K, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

__global__ void matMulTiled(const float* __restrict__ A, const float* __restrict__ B, float* C, int M, int K, int N)
{
    __shared__ float ds_A[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0.0f;

    for (int p = 0; p < (K - 1) / TILE_WIDTH + 1; ++p) {
        if (row < M && p * TILE_WIDTH + tx < K)
            ds_A[ty][tx] = A[row * K + p * TILE_WIDTH + tx];
        else
            ds_A[ty][tx] = 0.0;
        if (p * TILE_WIDTH + ty < K && col < N)
            ds_B[ty][tx] = B[(p * TILE_WIDTH + ty) * N + col];
        else
            ds_B[ty][tx] = 0.0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_WIDTH; ++i)
            acc += ds_A[ty][i] * ds_B[i][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}

int main()
{
    const int M = 45, K = 37, N = 50;
    std::vector<float> A(M * K), B(K * N), C(M * N), ref(M * N);
    for (size_t i = 0; i < A.size(); i++) A[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < B.size(); i++) B[i] = (float)(i % 5) - 2;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            ref[i * N + j] = s;
        }

    float *dA, *dB, *dC;
    gpuErrchk(cudaMalloc((void **)&dA, A.size() * sizeof(float)));
    gpuErrchk(cudaMalloc((void **)&dB, B.size() * sizeof(float)));
    gpuErrchk(cudaMalloc((void **)&dC, C.size() * sizeof(float)));
    gpuErrchk(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dB, &B[0], B.size() * sizeof(float), cudaMemcpyHostToDevice));

    dim3 dimGrid((N - 1) / TILE_WIDTH + 1, (M - 1) / TILE_WIDTH + 1, 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    int bad = 0;
    for (int version = 0; version < 2; version++) {
        gpuErrchk(cudaMemset(dC, 0xff, C.size() * sizeof(float)));
        if (version == 0)
            matMulNaive<<<dimGrid, dimBlock>>>(dA, dB, dC, M, K, N);
        else
            matMulTiled<<<dimGrid, dimBlock>>>(dA, dB, dC, M, K, N);
        gpuErrchk(cudaPeekAtLastError());
        gpuErrchk(cudaDeviceSynchronize());
        gpuErrchk(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < M * N; i++) bad += C[i] != ref[i];
    }
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    printf("%s\n", bad ? "FAILED" : "PASSED");
    return bad != 0;
}

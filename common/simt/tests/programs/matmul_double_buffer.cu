// needs: sm_80 (cp.async)
// Tiled matrix product with asynchronous copies: while a block multiplies one pair of tiles, the next pair is copied into
// the other half of shared memory. Written with cp.async as PTX, with the pipeline primitives, and with memcpy_async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline_primitives.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;

#define TILE 16
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) exit(code);
    }
}

struct InlinePtx {
    __device__ static void copy16(void *to, const void *from)
    {
        uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(from) : "memory");
    }
    __device__ static void commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
    template <int newest> __device__ static void wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(newest) : "memory"); }
};

struct Primitives {
    __device__ static void copy16(void *to, const void *from) { __pipeline_memcpy_async(to, from, 16); }
    __device__ static void commit() { __pipeline_commit(); }
    template <int newest> __device__ static void wait() { __pipeline_wait_prior(newest); }
};

// One float4 of A's tile or of B's tile for each of the first 2 * TILE * TILE / 4 threads
template <class Async>
__device__ void fetch(float (&As)[TILE][TILE], float (&Bs)[TILE][TILE], const float *A, const float *B, int n, int tile)
{
    int t = threadIdx.y * TILE + threadIdx.x, row = t % 64 / (TILE / 4), col = t % (TILE / 4) * 4;
    if (t < 64)
        Async::copy16(&As[row][col], &A[(blockIdx.y * TILE + row) * n + tile * TILE + col]);
    else if (t < 128)
        Async::copy16(&Bs[row][col], &B[(tile * TILE + row) * n + blockIdx.x * TILE + col]);
    Async::commit();
}

template <class Async>
__global__ void matmul_stages(float *C, const float *A, const float *B, int n)
{
    __shared__ alignas(16) float As[2][TILE][TILE], Bs[2][TILE][TILE];
    const int tiles = n / TILE;
    float sum = 0;
    fetch<Async>(As[0], Bs[0], A, B, n, 0);
    for (int tile = 0; tile < tiles; tile++) {
        const int now = tile & 1;
        if (tile + 1 < tiles) {
            fetch<Async>(As[now ^ 1], Bs[now ^ 1], A, B, n, tile + 1);
            Async::template wait<1>(); // all but the newest group
        } else {
            Async::template wait<0>();
        }
        __syncthreads(); // the copies of the other threads
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += As[now][threadIdx.y][k] * Bs[now][k][threadIdx.x];
        __syncthreads(); // before the buffer is filled again
    }
    C[(blockIdx.y * TILE + threadIdx.y) * n + blockIdx.x * TILE + threadIdx.x] = sum;
}

__global__ void matmul_group(float *C, const float *A, const float *B, int n)
{
    __shared__ alignas(16) float As[TILE][TILE], Bs[TILE][TILE];
    cg::thread_block block = cg::this_thread_block();
    float sum = 0;
    for (int tile = 0; tile < n / TILE; tile++) {
        for (int row = 0; row < TILE; row++) {
            cg::memcpy_async(block, As[row], &A[(blockIdx.y * TILE + row) * n + tile * TILE], sizeof(float) * TILE);
            cg::memcpy_async(block, Bs[row], &B[(tile * TILE + row) * n + blockIdx.x * TILE], sizeof(float) * TILE);
        }
        cg::wait(block);
        for (int k = 0; k < TILE; k++) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        block.sync();
    }
    C[(blockIdx.y * TILE + threadIdx.y) * n + blockIdx.x * TILE + threadIdx.x] = sum;
}

int main(int argc, char *argv[])
{
    int n = argc > 1 ? atoi(argv[1]) : 64, failed = 0;
    if (n % TILE) { printf("n must be a multiple of %d\n", TILE); return 1; }
    size_t bytes = (size_t)n * n * sizeof(float);
    float *A = (float *)malloc(bytes), *B = (float *)malloc(bytes), *C = (float *)malloc(bytes), *d_A, *d_B, *d_C;
    for (int i = 0; i < n * n; i++) { A[i] = (float)(i % 11 - 5); B[i] = (float)(i % 7 - 3); }
    gpuErrchk(cudaMalloc(&d_A, bytes));
    gpuErrchk(cudaMalloc(&d_B, bytes));
    gpuErrchk(cudaMalloc(&d_C, bytes));
    gpuErrchk(cudaMemcpy(d_A, A, bytes, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_B, B, bytes, cudaMemcpyHostToDevice));
    dim3 threads(TILE, TILE), grid(n / TILE, n / TILE);
    const char *names[] = {"inline PTX", "pipeline primitives", "memcpy_async"};
    for (int version = 0; version < 3; version++) {
        gpuErrchk(cudaMemset(d_C, 0xff, bytes));
        if (version == 0) matmul_stages<InlinePtx><<<grid, threads>>>(d_C, d_A, d_B, n);
        if (version == 1) matmul_stages<Primitives><<<grid, threads>>>(d_C, d_A, d_B, n);
        if (version == 2) matmul_group<<<grid, threads>>>(d_C, d_A, d_B, n);
        gpuErrchk(cudaPeekAtLastError());
        gpuErrchk(cudaMemcpy(C, d_C, bytes, cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                float exact = 0; // whole numbers, so any order gives the same sum
                for (int k = 0; k < n; k++) exact += A[i * n + k] * B[k * n + j];
                wrong += !(C[i * n + j] == exact);
            }
        printf("%-20s %d of %d wrong\n", names[version], wrong, n * n);
        failed |= wrong != 0;
    }
    gpuErrchk(cudaFree(d_A)); gpuErrchk(cudaFree(d_B)); gpuErrchk(cudaFree(d_C));
    free(A); free(B); free(C);
    return failed;
}

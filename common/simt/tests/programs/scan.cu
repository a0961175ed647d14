// Prefix sums: Hillis-Steele and Blelloch in one block, then any length with a scan of the block sums.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 128
#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
#define CHECK(call)                                                     \
    do {                                                                \
        const cudaError_t error = call;                                 \
        if (error != cudaSuccess) {                                     \
            printf("Error: %s:%d, ", __FILE__, __LINE__);               \
            printf("code:%d, reason: %s\n", error, cudaGetErrorString(error)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

__global__ void hillis_steele(int *out, const int *in, int n)
{
    extern __shared__ int temp[];
    int tid = threadIdx.x, pout = 0, pin = 1;
    temp[pout * n + tid] = tid > 0 ? in[tid - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (tid >= offset)
            temp[pout * n + tid] = temp[pin * n + tid] + temp[pin * n + tid - offset];
        else
            temp[pout * n + tid] = temp[pin * n + tid];
        __syncthreads();
    }
    out[tid] = temp[pout * n + tid];
}

__global__ void blelloch(int *g_odata, const int *g_idata, int *sums, int n)
{
    __shared__ int temp[2 * BLOCK + 2 * BLOCK / NUM_BANKS];
    int tid = threadIdx.x, base = blockIdx.x * 2 * BLOCK, offset = 1;
    int ai = tid, bi = tid + BLOCK;
    int bankOffsetA = CONFLICT_FREE_OFFSET(ai), bankOffsetB = CONFLICT_FREE_OFFSET(bi);
    temp[ai + bankOffsetA] = base + ai < n ? g_idata[base + ai] : 0;
    temp[bi + bankOffsetB] = base + bi < n ? g_idata[base + bi] : 0;
    for (int d = BLOCK; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int a = offset * (2 * tid + 1) - 1, b = offset * (2 * tid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (tid == 0) {
        int last = 2 * BLOCK - 1 + CONFLICT_FREE_OFFSET(2 * BLOCK - 1);
        if (sums) sums[blockIdx.x] = temp[last];
        temp[last] = 0;
    }
    for (int d = 1; d < 2 * BLOCK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = offset * (2 * tid + 1) - 1, b = offset * (2 * tid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            int t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    if (base + ai < n) g_odata[base + ai] = temp[ai + bankOffsetA];
    if (base + bi < n) g_odata[base + bi] = temp[bi + bankOffsetB];
}

__global__ void uniform_add(int *data, const int *sums, int n)
{
    __shared__ int uni;
    if (threadIdx.x == 0) uni = sums[blockIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * 2 * BLOCK + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 2 * BLOCK); i += BLOCK)
        data[i] += uni;
}

void scan_any(int *out, const int *in, int n)
{
    int blocks = (n + 2 * BLOCK - 1) / (2 * BLOCK);
    int *sums;
    CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
    blelloch<<<blocks, BLOCK>>>(out, in, sums, n);
    if (blocks > 1) {
        int *scanned;
        CHECK(cudaMalloc(&scanned, blocks * sizeof(int)));
        scan_any(scanned, sums, blocks);
        uniform_add<<<blocks, BLOCK>>>(out, scanned, n);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(scanned));
    }
    CHECK(cudaFree(sums));
}

int main()
{
    const int n = 2500;
    int *h = (int *)malloc(n * sizeof(int)), *r = (int *)malloc(n * sizeof(int)), *d_in, *d_out, bad = 0;
    for (int i = 0; i < n; i++) h[i] = i % 11;
    CHECK(cudaMalloc(&d_in, n * sizeof(int)));
    CHECK(cudaMalloc(&d_out, n * sizeof(int)));
    CHECK(cudaMemcpy(d_in, h, n * sizeof(int), cudaMemcpyHostToDevice));

    hillis_steele<<<1, BLOCK, 2 * BLOCK * sizeof(int)>>>(d_out, d_in, BLOCK);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(r, d_out, BLOCK * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0, s = 0; i < BLOCK; s += h[i++]) bad += r[i] != s;

    scan_any(d_out, d_in, n);
    CHECK(cudaMemcpy(r, d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0, s = 0; i < n; s += h[i++]) bad += r[i] != s;
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(h);
    free(r);
    printf("scan: %d wrong\n", bad);
    return bad > 0;
}

// traffic.cu — six small kernels and the memory traffic that each requests, as a Markdown table.
//
// Each reads an (N, C) matrix once and writes one, so all have the same byte floor; what differs is which addresses the 32
// lanes of a warp have at the same time. Built with the CPU backend, whose counters it prints: common/simt/simt.h.
// The chapter 'Reading kernels as bytes' shows its output.
#include "common/simt/simt.h"

#include <cuda_runtime.h>
#include <stdio.h>

constexpr int N = 256, C = 1024; // rows, columns
constexpr int tile = 32;

// Lanes read neighbours: 32 lanes, 128 bytes, 4 sectors.
__global__ void copy_neighbours(float *out, const float *x) { // (N, C)
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
}

// The same, one element off: 128 bytes that overlap 5 sectors.
__global__ void copy_shifted(float *out, const float *x) { // (N, C), read from x[1] on
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i + 1];
}

// 16 bytes a lane: a quarter of the requests, the same sectors.
__global__ void copy_float4(float4 *out, const float4 *x) { // (N, C / 4)
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
}

// A thread per row: the lanes access addresses C floats apart, each in a sector of its own.
__global__ void copy_thread_per_row(float *out, const float *x) { // (N, C)
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    for (int c = 0; c < C; c++) { out[n * C + c] = x[n * C + c]; }
}

// Transposed through shared memory. Rows of 32 floats put a column of the tile into one bank; rows of 33 do not.
template <int width> __global__ void transpose(float *out, const float *x) { // out: (C, N), x: (N, C)
    __shared__ float s[tile][width];
    int c = blockIdx.x * tile + threadIdx.x, n = blockIdx.y * tile + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = x[n * C + c];
    __syncthreads();
    int row = blockIdx.x * tile + threadIdx.y, column = blockIdx.y * tile + threadIdx.x;
    out[row * N + column] = s[threadIdx.x][threadIdx.y];
}

static void print_row(const char *name) {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) { printf("%s: %s\n", name, cudaGetErrorString(error)); }
    simt_counters counters;
    simt_counters_get(&counters);
    simt_counters_reset();
    unsigned long long requests = counters.global.load_requests + counters.global.store_requests;
    unsigned long long sectors = counters.global.load_sectors + counters.global.store_sectors;
    double floor = 2.0 * N * C * sizeof(float);
    printf("| %s | %llu | %llu | %.1f | %.2fx | %llu |\n", name, requests, sectors, (double)sectors / (double)requests,
           (double)sectors * 32 / floor, (unsigned long long)counters.bank_conflicts);
}

int main() {
    float *x, *out;
    size_t bytes = (size_t)N * C * sizeof(float);
    if (cudaMalloc(&x, bytes + sizeof(float)) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess) { return 1; }
    cudaMemset(x, 0, bytes + sizeof(float));
    simt_counters_reset();

    printf("| kernel | requests | sectors | sectors per request | sectors / floor | bank conflicts |\n");
    printf("|---|--:|--:|--:|--:|--:|\n");
    copy_neighbours<<<N * C / 256, 256>>>(out, x);
    print_row("neighbours");
    copy_shifted<<<N * C / 256, 256>>>(out, x);
    print_row("one element off");
    copy_float4<<<N * C / 4 / 256, 256>>>((float4 *)out, (const float4 *)x);
    print_row("16 bytes a lane");
    copy_thread_per_row<<<N / 64, 64>>>(out, x);
    print_row("thread per row");
    transpose<tile><<<dim3(C / tile, N / tile), dim3(tile, tile)>>>(out, x);
    print_row("transpose, tile [32][32]");
    transpose<tile + 1><<<dim3(C / tile, N / tile), dim3(tile, tile)>>>(out, x);
    print_row("transpose, tile [32][33]");

    cudaFree(x);
    cudaFree(out);
    return 0;
}

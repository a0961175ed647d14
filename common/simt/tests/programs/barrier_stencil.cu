// needs: sm_70 (cuda/barrier, cuda/atomic)
// A stencil whose tiles are copied ahead with memcpy_async and awaited at a cuda::barrier, and a histogram of the results
// with cuda::atomic_ref.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int TILE = 256, EDGE = 4, BINS = 16; // an edge of 16 bytes keeps the copies aligned

__global__ void stencil(int *out, unsigned *histogram, const int *in, int tiles) {
    __shared__ __align__(16) int staged[2][TILE + 2 * EDGE];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2];
    __shared__ unsigned bins[BINS];
    auto block = cg::this_thread_block();
    if (threadIdx.x < BINS) { bins[threadIdx.x] = 0; }
    if (threadIdx.x < 2) { init(&ready[threadIdx.x], blockDim.x); }
    block.sync();
    auto fetch = [&](int tile, int stage) {
        cuda::memcpy_async(block, staged[stage], in + tile * TILE, cuda::aligned_size_t<16>(sizeof staged[stage]),
                           ready[stage]);
    };
    int stage = 0;
    if (blockIdx.x < tiles) { fetch(blockIdx.x, 0); }
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage ^= 1) {
        if (tile + gridDim.x < tiles) { fetch(tile + gridDim.x, stage ^ 1); }
        ready[stage].arrive_and_wait();
        const int *at = &staged[stage][EDGE + threadIdx.x];
        int value = at[-1] + 2 * at[0] + at[1];
        out[tile * TILE + threadIdx.x] = value;
        cuda::atomic_ref<unsigned, cuda::thread_scope_block>(bins[value % BINS])
            .fetch_add(1, cuda::std::memory_order_relaxed);
        block.sync(); // the stage is free again
    }
    block.sync();
    if (threadIdx.x < BINS) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> bin(histogram[threadIdx.x]);
        bin.fetch_add(bins[threadIdx.x], cuda::memory_order_relaxed);
    }
}

int main() {
    const int tiles = 13, n = tiles * TILE;
    int *in, *out;
    unsigned *histogram, wanted[BINS] = {};
    cudaMallocManaged(&in, (n + 2 * EDGE) * sizeof *in);
    cudaMallocManaged(&out, n * sizeof *out);
    cudaMallocManaged(&histogram, BINS * sizeof *histogram);
    srand(1);
    for (int i = 0; i < n + 2 * EDGE; i++) { in[i] = rand() % 1000; }
    for (int i = 0; i < BINS; i++) { histogram[i] = 0; }
    stencil<<<4, TILE>>>(out, histogram, in, tiles);
    if (cudaDeviceSynchronize() != cudaSuccess) { return 1; }
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const int *at = in + EDGE + i;
        int value = at[-1] + 2 * at[0] + at[1];
        wanted[value % BINS]++;
        wrong += out[i] != value;
    }
    for (int i = 0; i < BINS; i++) { wrong += histogram[i] != wanted[i]; }
    printf("%d wrong\n", wrong);
    cudaFree(in);
    cudaFree(out);
    cudaFree(histogram);
    return wrong != 0;
}

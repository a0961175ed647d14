// Cooperative groups: every thread writes its rank and its group's size.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// Ranks and sizes; a group passed as a thread_group.
__device__ int describe(const cg::thread_group &group) {
    group.sync();
    return (int)(group.thread_rank() * 1000 + group.size());
}

__global__ void ranks(int *out) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    cg::thread_block_tile<4> four = cg::tiled_partition<4>(block);
    int *mine = out + block.thread_rank() * 10;
    mine[0] = describe(block);
    mine[1] = describe(warp);
    mine[2] = describe(eight);
    mine[3] = describe(four);
    mine[4] = describe(cg::tiled_partition(block, 16));
    mine[5] = (int)(warp.meta_group_rank() * 1000 + warp.meta_group_size());
    mine[6] = (int)(eight.meta_group_rank() * 1000 + eight.meta_group_size());
    mine[7] = (int)(block.thread_index().y * 1000 + block.group_dim().x);
    mine[8] = (int)cg::this_grid().thread_rank();
    mine[9] = (int)cg::this_grid().size();
    block.sync();
}

template <int Size> __global__ void exchange(float *out) {
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    float v = (float)threadIdx.x, *mine = out + threadIdx.x * 12;
    mine[0] = tile.shfl(v, 1);
    mine[1] = tile.shfl_up(v, 1);
    mine[2] = tile.shfl_down(v, 1);
    mine[3] = tile.shfl_xor(v, Size - 1);
    mine[4] = (float)(tile.any(threadIdx.x == 5) != 0);
    mine[5] = (float)(tile.all(threadIdx.x < 40) != 0);
    mine[6] = (float)tile.ballot(threadIdx.x & 1);
    mine[7] = (float)tile.match_any((int)threadIdx.x / 2);
    mine[8] = cg::reduce(tile, v, cg::plus<float>());
    mine[9] = (float)cg::reduce(tile, (int)threadIdx.x, cg::greater<int>());
    mine[10] = cg::inclusive_scan(tile, v);
    mine[11] = cg::exclusive_scan(tile, v);
}

struct best {
    float value;
    int index;
    double spare;
};

// Converged lanes after a branch, and groups made of values.
__global__ void coalesced(int *out) {
    int i = threadIdx.x, *mine = out + i * 8;
    if (i % 3 == 1) {
        auto group = cg::coalesced_threads();
        mine[0] = (int)(group.thread_rank() * 1000 + group.size());
        mine[1] = group.shfl(i, 2);
        mine[2] = cg::reduce(group, i, cg::plus<int>());
        mine[3] = (int)cg::reduce(group, (long long)i, [](long long a, long long b) { return a > b ? a : b; });
        mine[4] = (int)group.ballot(i > 10);
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    mine[5] = (int)cg::binary_partition(warp, i < 10).size();
    mine[6] = (int)cg::labeled_partition(warp, i % 5).thread_rank();
    best candidate = {(float)((i * 7) % 32), i, 0.5};
    candidate = cg::reduce(warp, candidate, [](best a, best b) { return a.value < b.value ? b : a; });
    mine[7] = candidate.index;
}

__global__ void copies(float *out, const float *in) {
    __shared__ float4 staged[16];
    __shared__ float odd[13];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, staged, (const float4 *)in, sizeof staged);
    cg::memcpy_async(block, odd, in + 1, sizeof odd);
    cg::wait(block);
    out[threadIdx.x] = ((float *)staged)[63 - threadIdx.x] + (threadIdx.x < 13 ? odd[12 - threadIdx.x] : 0.0f);
    block.sync();
    if (threadIdx.x < 16) {
        __pipeline_memcpy_async(&staged[threadIdx.x], in + 4 * (15 - threadIdx.x), sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }
    block.sync();
    out[64 + threadIdx.x] = ((float *)staged)[threadIdx.x];
}

__global__ void grid_sum(int *partial, int *total) {
    auto grid = cg::this_grid();
    if (threadIdx.x == 0) { partial[blockIdx.x] = blockIdx.x + 1; }
    grid.sync();
    if (grid.thread_rank() == grid.size() - 1) {
        for (int i = 0; i < (int)grid.num_blocks(); i++) { *total += partial[i]; }
    }
    grid.sync();
    if (threadIdx.x == 0) { partial[blockIdx.x] = *total; }
}

template <class T, class Launch> static int run(T *out, int count, Launch launch) {
    T *device;
    cudaMalloc(&device, count * sizeof *device);
    cudaMemset(device, 0, count * sizeof *device);
    launch(device);
    int error = cudaMemcpy(out, device, count * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error;
}

extern "C" int run_ranks(int *out) {
    return run(out, 64 * 10, [](int *o) { ranks<<<1, dim3(16, 4)>>>(o); });
}
extern "C" int run_exchange_32(float *out) {
    return run(out, 64 * 12, [](float *o) { exchange<32><<<1, 64>>>(o); });
}
extern "C" int run_exchange_8(float *out) {
    return run(out, 64 * 12, [](float *o) { exchange<8><<<1, 64>>>(o); });
}
extern "C" int run_coalesced(int *out) {
    return run(out, 32 * 8, [](int *o) { coalesced<<<1, 32>>>(o); });
}

extern "C" int run_copies(float *out) {
    float *in;
    cudaMallocManaged(&in, 64 * sizeof *in);
    for (int i = 0; i < 64; i++) { in[i] = (float)i; }
    return run(out, 128, [&](float *o) { copies<<<1, 64>>>(o, in); });
}

extern "C" int run_grid(int blocks, int *partial, int *total) {
    int *device, error;
    cudaMalloc(&device, (blocks + 1) * sizeof *device);
    cudaMemset(device, 0, (blocks + 1) * sizeof *device);
    int *sum = device + blocks;
    void *arguments[] = {&device, &sum};
    error = cudaLaunchCooperativeKernel(grid_sum, dim3(blocks), dim3(64), arguments, 0, 0);
    cudaMemcpy(partial, device, blocks * sizeof *partial, cudaMemcpyDeviceToHost);
    cudaMemcpy(total, sum, sizeof *total, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error;
}

// One block more than the device holds at once.
extern "C" int run_grid_too_large(void) {
    int *device, blocks;
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_sum, 1024, 0);
    cudaMalloc(&device, 8);
    int *sum = device + 1;
    void *arguments[] = {&device, &sum};
    blocks = blocks * properties.multiProcessorCount + 1;
    return cudaLaunchCooperativeKernel(grid_sum, dim3(blocks), dim3(1024), arguments, 0, 0);
}

// Not launched as a cooperative kernel: its groups cannot meet.
extern "C" int run_grid_without_leave(void) {
    int *device;
    cudaMalloc(&device, 8);
    grid_sum<<<1, 64>>>(device, device + 1);
    return cudaDeviceSynchronize();
}

// Cooperative groups: code that takes any group, tiles of several sizes, groups of the lanes that are in a branch, and
// collectives of a group (reduce, scan).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                  \
{                                                                                    \
    const cudaError_t error = call;                                                  \
    if (error != cudaSuccess)                                                        \
    {                                                                                \
        fprintf(stderr, "Error: %s:%d, ", __FILE__, __LINE__);                       \
        fprintf(stderr, "code: %d, reason: %s\n", error, cudaGetErrorString(error)); \
        exit(1);                                                                     \
    }                                                                                \
}

// Works for a block, a tile and a coalesced group
template <typename Group>
__device__ int sum_of(const Group &group, int *scratch, int value)
{
    const int rank = group.thread_rank();
    scratch[rank] = value;
    group.sync();
    if (rank == 0)
        for (int i = 1; i < (int)group.size(); i++) value += scratch[i];
    group.sync();
    return value; // of rank 0
}

__global__ void sums_by_group(int *by_block, int *by_tile4, int *by_tile32, const int *in)
{
    extern __shared__ int scratch[];
    auto block = cg::this_thread_block();
    auto tile32 = cg::tiled_partition<32>(block);
    auto tile4 = cg::tiled_partition<4>(tile32);
    const int value = in[blockIdx.x * block.size() + block.thread_rank()];

    int sum = sum_of(block, scratch, value);
    if (block.thread_rank() == 0) by_block[blockIdx.x] = sum;
    block.sync();
    sum = sum_of(tile4, scratch + block.thread_rank() / 4 * 4, value);
    if (tile4.thread_rank() == 0) by_tile4[(blockIdx.x * block.size() + block.thread_rank()) / 4] = sum;

    sum = cg::reduce(tile32, value, cg::plus<int>());
    int largest = cg::reduce(tile32, value, cg::greater<int>());
    if (tile32.thread_rank() == 0) {
        by_tile32[2 * (blockIdx.x * tile32.meta_group_size() + tile32.meta_group_rank())] = sum;
        by_tile32[2 * (blockIdx.x * tile32.meta_group_size() + tile32.meta_group_rank()) + 1] = largest;
    }
}

// The lanes of a warp with an odd value append it to the list, with one atomic for all of them
__global__ void append_odd(int *list, int *length, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 2 == 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        int start = 0;
        if (odd.thread_rank() == 0) start = atomicAdd(length, odd.size());
        start = odd.shfl(start, 0);
        list[start + odd.thread_rank()] = in[i];
    }
}

// Offsets of runs inside a tile: an exclusive scan, votes, and shuffles
__global__ void offsets(int *out, const int *in, int n)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : 0;
    int before = cg::exclusive_scan(tile, value, cg::plus<int>());
    int last = tile.shfl(before + value, tile.size() - 1);
    unsigned positive = tile.ballot(value > 5);
    bool any = tile.any(value > 5);
    int neighbour = tile.shfl_xor(value, 1);
    if (i < n) out[i] = any == (positive != 0) ? before * 10000 + last * 10 + neighbour % 10 : -1;
}

int main(int argc, char **argv)
{
    const int threads = 128, blocks = argc > 1 ? atoi(argv[1]) : 6, n = blocks * threads;
    std::vector<int> in(n), odd;
    for (int i = 0; i < n; i++) in[i] = (i * 29 + i / 7) % 11;
    for (int v : in) if (v % 2) odd.push_back(v);
    int *d_in, *d_out, *d_count, *d_tile4, *d_tile32;
    CHECK(cudaMalloc(&d_in, n * sizeof(int)));
    CHECK(cudaMalloc(&d_out, n * sizeof(int)));
    CHECK(cudaMalloc(&d_count, sizeof(int)));
    CHECK(cudaMalloc(&d_tile4, n / 4 * sizeof(int)));
    CHECK(cudaMalloc(&d_tile32, n / 16 * sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    std::vector<int> out(n), tile4(n / 4), tile32(n / 16);
    int wrong = 0, count = 0;

    sums_by_group<<<blocks, threads, threads * sizeof(int)>>>(d_out, d_tile4, d_tile32, d_in);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(tile4.data(), d_tile4, n / 4 * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(tile32.data(), d_tile32, n / 16 * sizeof(int), cudaMemcpyDeviceToHost));
    auto sum = [&](int from, int size) { int s = 0; for (int i = 0; i < size; i++) s += in[from + i]; return s; };
    for (int b = 0; b < blocks; b++) wrong += out[b] != sum(b * threads, threads);
    for (int t = 0; t < n / 4; t++) wrong += tile4[t] != sum(t * 4, 4);
    for (int t = 0; t < n / 32; t++) {
        int largest = 0;
        for (int i = 0; i < 32; i++) largest = in[t * 32 + i] > largest ? in[t * 32 + i] : largest;
        wrong += tile32[2 * t] != sum(t * 32, 32) || tile32[2 * t + 1] != largest;
    }
    printf("sums by group: %d wrong\n", wrong);

    CHECK(cudaMemset(d_count, 0, sizeof(int)));
    append_odd<<<blocks, threads>>>(d_out, d_count, d_in, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    int histogram[11] = {0};
    for (int v : odd) histogram[v]++;
    for (int i = 0; i < count && count <= n; i++) if (out[i] >= 0 && out[i] < 11) histogram[out[i]]--;
    wrong += count != (int)odd.size();
    for (int h : histogram) wrong += h != 0;
    printf("odd values: %d, expected %zu\n", count, odd.size());

    offsets<<<blocks, threads>>>(d_out, d_in, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        wrong += out[i] != sum(i / 16 * 16, i % 16) * 10000 + sum(i / 16 * 16, 16) * 10 + in[i ^ 1] % 10;
    printf("%s\n", wrong ? "FAILED" : "PASSED");
    for (int *p : {d_in, d_out, d_count, d_tile4, d_tile32}) CHECK(cudaFree(p));
    return wrong != 0;
}

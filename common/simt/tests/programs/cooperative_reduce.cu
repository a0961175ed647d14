// Sum with cooperative groups: the example of the developer blog, with tiles and coalesced groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
using namespace cooperative_groups;
namespace cg = cooperative_groups;

__device__ int reduce_sum(thread_group g, int *temp, int val)
{
    int lane = g.thread_rank();

    // Each iteration halves the number of active threads
    for (int i = g.size() / 2; i > 0; i /= 2)
    {
        temp[lane] = val;
        g.sync(); // wait for all threads to store
        if (lane < i) val += temp[lane + i];
        g.sync(); // wait for all threads to load
    }
    return val; // note: only thread 0 will return full sum
}

__device__ int thread_sum(int *input, int n)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x)
    {
        int4 in = ((int4*)input)[i];
        sum += in.x + in.y + in.z + in.w;
    }
    return sum;
}

__global__ void sum_kernel_block(int *sum, int *input, int n)
{
    int my_sum = thread_sum(input, n);
    extern __shared__ int temp[];
    auto g = this_thread_block();
    int block_sum = reduce_sum(g, temp, my_sum);
    if (g.thread_rank() == 0) atomicAdd(sum, block_sum);
}

template <int tile_sz>
__device__ int reduce_sum_tile_shfl(thread_block_tile<tile_sz> g, int val)
{
    for (int i = g.size() / 2; i > 0; i /= 2) {
        val += g.shfl_down(val, i);
    }
    return val;
}

template<int tile_sz>
__global__ void sum_kernel_tile_shfl(int *sum, int *input, int n)
{
    int my_sum = thread_sum(input, n);
    auto tile = tiled_partition<tile_sz>(this_thread_block());
    int tile_sum = reduce_sum_tile_shfl<tile_sz>(tile, my_sum);
    if (tile.thread_rank() == 0) atomicAdd(sum, tile_sum);
}

__global__ void sum_kernel_reduce(int *sum, int *input, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int my_sum = thread_sum(input, n);
    my_sum = cg::reduce(warp, my_sum, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(sum, my_sum);
}

__device__ int atomicAggInc(int *ptr)
{
    cg::coalesced_group g = cg::coalesced_threads();
    int prev;
    if (g.thread_rank() == 0) prev = atomicAdd(ptr, g.size());
    prev = g.thread_rank() + g.shfl(prev, 0);
    return prev;
}

__global__ void filter(int *dst, int *nres, const int *src, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n && src[i] > 0)
        dst[atomicAggInc(nres)] = src[i];
}

int main()
{
    int n = 1 << 12, blockSize = 256, nBlocks = 4, bad = 0;
    int sharedBytes = blockSize * sizeof(int);
    int *sum, *data, *filtered;
    cudaMallocManaged(&sum, sizeof(int));
    cudaMallocManaged(&data, n * sizeof(int));
    cudaMallocManaged(&filtered, n * sizeof(int));
    for (int i = 0; i < n; i++) data[i] = 1;

    for (int version = 0; version < 3; version++) {
        *sum = 0;
        if (version == 0) sum_kernel_block<<<nBlocks, blockSize, sharedBytes>>>(sum, data, n);
        if (version == 1) sum_kernel_tile_shfl<16><<<nBlocks, blockSize>>>(sum, data, n);
        if (version == 2) sum_kernel_reduce<<<nBlocks, blockSize>>>(sum, data, n);
        cudaDeviceSynchronize();
        if (*sum != n) { printf("version %d: %d, expected %d\n", version, *sum, n); bad++; }
    }
    int kept = 0;
    for (int i = 0; i < n; i++) { data[i] = i % 3 - 1; kept += data[i] > 0; }
    *sum = 0;
    filter<<<n / blockSize, blockSize>>>(filtered, sum, data, n);
    cudaDeviceSynchronize();
    bad += *sum != kept;
    for (int i = 0; i < kept; i++) bad += filtered[i] != 1;
    cudaFree(sum); cudaFree(data); cudaFree(filtered);
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad;
}

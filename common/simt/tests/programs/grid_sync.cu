// A reduction in one cooperative launch: all blocks meet in the middle.
#include <cstdio>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void reduceSinglePass(const float *in, float *partial, float *result, unsigned n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    extern double __shared__ sdata[];

    sdata[block.thread_rank()] = 0;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size())
        sdata[block.thread_rank()] += in[i];
    cg::sync(block);
    for (unsigned s = block.size() / 2; s > 0; s /= 2) {
        if (block.thread_rank() < s)
            sdata[block.thread_rank()] += sdata[block.thread_rank() + s];
        block.sync();
    }
    if (block.thread_rank() == 0)
        partial[blockIdx.x] = sdata[0];
    cg::sync(grid);

    if (grid.thread_rank() == 0) {
        double total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += partial[b];
        *result = total;
    }
}

int main()
{
    int supported = 0, numBlocksPerSm = 0;
    cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0);
    if (!supported) {
        printf("no cooperative launch, waived\n");
        return 0;
    }
    unsigned n = 10000;
    int threads = 128, blocks = 4;
    size_t shared = threads * sizeof(double);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&numBlocksPerSm, reduceSinglePass, threads, shared);
    if (numBlocksPerSm < 1) return 1;

    float *in, *partial, *result;
    cudaMallocManaged((void **)&in, n * sizeof(float));
    cudaMallocManaged((void **)&partial, blocks * sizeof(float));
    cudaMallocManaged((void **)&result, sizeof(float));
    for (unsigned i = 0; i < n; i++)
        in[i] = 0.5f;

    void *kernelArgs[] = { (void*)&in, (void*)&partial, (void*)&result, (void*)&n };
    dim3 dimBlock(threads, 1, 1);
    dim3 dimGrid(blocks, 1, 1);
    cudaError_t error = cudaLaunchCooperativeKernel((void*)reduceSinglePass, dimGrid, dimBlock, kernelArgs, shared, NULL);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    bool ok = error == cudaSuccess && *result == 5000.0f;
    printf("%s: %f\n", cudaGetErrorName(error), *result);
    cudaFree(in); cudaFree(partial); cudaFree(result);
    return ok ? 0 : 1;
}

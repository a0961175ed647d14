// needs: sm_80 (__reduce_add_sync)
// Pi by random points: each thread has its own generator, blocks add by warp shuffles and one atomic.
#include <cstdio>
#include <cstdint>
#include <cmath>

__device__ __host__ static inline uint32_t xorshift(uint32_t &state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__device__ unsigned long long hits;

__global__ void sample(int per_thread, uint32_t seed)
{
    uint32_t state = seed + 2654435761u * (blockIdx.x * blockDim.x + threadIdx.x + 1);
    unsigned inside = 0;
    for (int i = 0; i < per_thread; i++) {
        float x = xorshift(state) * (1.0f / 4294967296.0f);
        float y = xorshift(state) * (1.0f / 4294967296.0f);
        inside += x * x + y * y <= 1.0f;
    }
    __shared__ unsigned warp_sums[8];
    inside = __reduce_add_sync(0xffffffffu, inside);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = inside;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long block = 0;
        for (int w = 0; w < blockDim.x / 32; w++) block += warp_sums[w];
        atomicAdd(&hits, block);
    }
}

int main()
{
    const int blocks = 8, threads = 256, per_thread = 50;
    unsigned long long zero = 0, h = 0;
    cudaMemcpyToSymbol(hits, &zero, sizeof zero);
    sample<<<blocks, threads>>>(per_thread, 42);
    cudaMemcpyFromSymbol(&h, hits, sizeof h);
    double pi = 4.0 * h / ((double)blocks * threads * per_thread);
    printf("pi is about %.2f\n", pi);
    return fabs(pi - M_PI) < 0.05 ? 0 : 1;
}

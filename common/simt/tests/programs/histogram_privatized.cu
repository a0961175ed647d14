// Byte histogram in three ways: global atomics, one private histogram per warp in shared memory, and one atomic for all
// lanes of a warp that have the same bin.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM_BINS 256
#define WARP_SIZE 32
#define WARPS 4
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)

template <typename T>
void check(T result, char const *const func, const char *const file, int const line)
{
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, (unsigned int)result,
                cudaGetErrorName(result), func);
        exit(EXIT_FAILURE);
    }
}

__global__ void histogram_global(unsigned int *bins, const unsigned char *data, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(bins + data[i], 1);
}

// Four bytes of a word at once; the tail of n % 4 bytes is done by the first threads
__global__ void histogram_per_warp(unsigned int *bins, const unsigned char *data, int n)
{
    __shared__ unsigned int s_bins[WARPS][NUM_BINS];
    for (int i = threadIdx.x; i < WARPS * NUM_BINS; i += blockDim.x) (&s_bins[0][0])[i] = 0;
    __syncthreads();

    unsigned int *mine = s_bins[threadIdx.x / WARP_SIZE];
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = blockDim.x * gridDim.x;
    const uchar4 *words = reinterpret_cast<const uchar4 *>(data);
    for (int i = first; i < n / 4; i += stride) {
        uchar4 four = words[i];
        atomicAdd(mine + four.x, 1u);
        atomicAdd(mine + four.y, 1u);
        atomicAdd(mine + four.z, 1u);
        atomicAdd(mine + four.w, 1u);
    }
    if (first < n % 4) atomicAdd(mine + data[n / 4 * 4 + first], 1u);
    __syncthreads();

    for (int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) {
        unsigned int sum = 0;
        #pragma unroll
        for (int w = 0; w < WARPS; w++) sum += s_bins[w][bin];
        if (sum) atomicAdd(&bins[bin], sum);
    }
}

__global__ void histogram_aggregated(unsigned int *bins, const unsigned char *data, int n)
{
    __shared__ unsigned int s_bins[NUM_BINS];
    for (int i = threadIdx.x; i < NUM_BINS; i += blockDim.x) s_bins[i] = 0;
    __syncthreads();

    const int lane = threadIdx.x % WARP_SIZE;
    for (int base = blockIdx.x * blockDim.x; base < n; base += blockDim.x * gridDim.x) {
        int i = base + threadIdx.x;
        unsigned int active = __ballot_sync(0xffffffff, i < n);
        if (i < n) {
            int bin = data[i];
            unsigned int peers = __match_any_sync(active, bin);
            if (lane == __ffs(peers) - 1) atomicAdd(&s_bins[bin], __popc(peers));
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < NUM_BINS; i += blockDim.x) atomicAdd(&bins[i], s_bins[i]);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 50003;
    unsigned char *h_data = (unsigned char *)malloc(n), *d_data;
    unsigned int h_bins[NUM_BINS], expected[NUM_BINS] = {0}, *d_bins;
    srand(2009);
    for (int i = 0; i < n; i++) { // half of the bytes fall into few bins
        h_data[i] = (unsigned char)(i % 2 ? rand() : rand() % 3);
        expected[h_data[i]]++;
    }
    checkCudaErrors(cudaMalloc((void **)&d_data, n));
    checkCudaErrors(cudaMalloc((void **)&d_bins, sizeof(h_bins)));
    checkCudaErrors(cudaMemcpy(d_data, h_data, n, cudaMemcpyHostToDevice));

    void (*kernels[])(unsigned int *, const unsigned char *, int) = {histogram_global, histogram_per_warp, histogram_aggregated};
    const char *names[] = {"global atomics", "private per warp", "aggregated in warp"};
    int failures = 0;
    for (int k = 0; k < 3; k++) {
        checkCudaErrors(cudaMemset(d_bins, 0, sizeof(h_bins)));
        kernels[k]<<<8, WARPS * WARP_SIZE>>>(d_bins, d_data, n);
        checkCudaErrors(cudaGetLastError());
        checkCudaErrors(cudaMemcpy(h_bins, d_bins, sizeof(h_bins), cudaMemcpyDeviceToHost));
        int same = memcmp(h_bins, expected, sizeof(h_bins)) == 0;
        printf("%-20s bin 0: %u  bin 200: %u  %s\n", names[k], h_bins[0], h_bins[200], same ? "PASSED" : "FAILED");
        failures += !same;
    }
    checkCudaErrors(cudaFree(d_data));
    checkCudaErrors(cudaFree(d_bins));
    free(h_data);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

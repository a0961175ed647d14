// needs: sm_80 (__reduce_add_sync)
// Inclusive scan of many blocks in two ways: three phases with recursion on the block sums, and one pass with decoupled
// look-back.
// Usage: scan_lookback [number of elements]
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define checkCuda(ans) { assertCuda((ans), #ans, __FILE__, __LINE__); }
inline void assertCuda(cudaError_t code, const char *what, const char *file, int line)
{
    if (code == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(code));
    exit(EXIT_FAILURE);
}

constexpr int THREADS = 128, PER_THREAD = 4, TILE = THREADS * PER_THREAD;

// Up-sweep and down-sweep over the THREADS values of a block: exclusive; returns the total
__device__ unsigned blelloch(unsigned *tree)
{
    const int t = threadIdx.x;
    for (int stride = 1; stride < THREADS; stride *= 2) {
        __syncthreads();
        int right = (t + 1) * 2 * stride - 1;
        if (right < THREADS) tree[right] += tree[right - stride];
    }
    __syncthreads();
    const unsigned total = tree[THREADS - 1];
    __syncthreads();
    if (t == 0) tree[THREADS - 1] = 0;
    for (int stride = THREADS / 2; stride > 0; stride /= 2) {
        __syncthreads();
        int right = (t + 1) * 2 * stride - 1;
        if (right < THREADS) {
            unsigned left = tree[right - stride];
            tree[right - stride] = tree[right];
            tree[right] += left;
        }
    }
    __syncthreads();
    return total;
}

__device__ unsigned scan_tile(unsigned *tree, unsigned (&item)[PER_THREAD], const unsigned *in, int tile, int n)
{
    unsigned sum = 0;
    for (int k = 0; k < PER_THREAD; k++) {
        int i = tile * TILE + threadIdx.x * PER_THREAD + k;
        item[k] = sum += i < n ? in[i] : 0;
    }
    tree[threadIdx.x] = sum;
    return blelloch(tree);
}

__device__ void store_tile(unsigned *out, const unsigned (&item)[PER_THREAD], unsigned before, int tile, int n)
{
    for (int k = 0; k < PER_THREAD; k++) {
        int i = tile * TILE + threadIdx.x * PER_THREAD + k;
        if (i < n) out[i] = before + item[k];
    }
}

__global__ void scan_blocks(unsigned *out, unsigned *sums, const unsigned *in, int n)
{
    __shared__ unsigned tree[THREADS];
    unsigned item[PER_THREAD];
    unsigned total = scan_tile(tree, item, in, blockIdx.x, n);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
    store_tile(out, item, tree[threadIdx.x], blockIdx.x, n);
}

__global__ void add_before(unsigned *out, const unsigned *scanned_sums, int n)
{
    int i = (blockIdx.x + 1) * TILE + threadIdx.x;
    for (int end = min(n, (int)(blockIdx.x + 2) * TILE); i < end; i += blockDim.x) out[i] += scanned_sums[blockIdx.x];
}

void scan_recursive(unsigned *out, const unsigned *in, int n)
{
    int blocks = (n + TILE - 1) / TILE;
    unsigned *sums;
    checkCuda(cudaMalloc(&sums, blocks * sizeof(unsigned)));
    scan_blocks<<<blocks, THREADS>>>(out, sums, in, n);
    checkCuda(cudaGetLastError());
    if (blocks > 1) {
        scan_recursive(sums, sums, blocks);
        add_before<<<blocks - 1, THREADS>>>(out, sums, n);
        checkCuda(cudaGetLastError());
    }
    checkCuda(cudaFree(sums));
}

// State of a tile in one 64-bit word, so that flag and value change together
enum : unsigned { NOTHING, TILE_SUM, PREFIX };
__device__ unsigned long long pack(unsigned flag, unsigned value) { return (unsigned long long)flag << 32 | value; }

__device__ unsigned look_back(volatile unsigned long long *state, int tile)
{
    unsigned before = 0;
    for (int last = tile - 1;; last -= warpSize) { // a warp looks at 32 tiles at once
        int mine = last - (int)threadIdx.x;
        unsigned long long seen;
        do seen = mine >= 0 ? state[mine] : pack(PREFIX, 0);
        while (__any_sync(~0u, (unsigned)(seen >> 32) == NOTHING));
        unsigned with_prefix = __ballot_sync(~0u, (unsigned)(seen >> 32) == PREFIX);
        int first = with_prefix ? __ffs(with_prefix) - 1 : warpSize - 1;
        before += __reduce_add_sync(~0u, (int)threadIdx.x <= first ? (unsigned)seen : 0u);
        if (with_prefix) return before;
    }
}

__global__ void scan_one_pass(unsigned *out, volatile unsigned long long *state, int *next_tile, const unsigned *in, int n)
{
    __shared__ unsigned tree[THREADS];
    __shared__ unsigned before;
    __shared__ int tile;
    if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1); // so that all earlier tiles have started
    __syncthreads();
    unsigned item[PER_THREAD];
    unsigned total = scan_tile(tree, item, in, tile, n);
    if (threadIdx.x == 0 && tile > 0) state[tile] = pack(TILE_SUM, total);
    if (threadIdx.x < warpSize) {
        unsigned sum = tile > 0 ? look_back(state, tile) : 0;
        if (threadIdx.x == 0) {
            state[tile] = pack(PREFIX, sum + total);
            before = sum;
        }
    }
    __syncthreads();
    store_tile(out, item, before + tree[threadIdx.x], tile, n);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 70001, tiles = (n + TILE - 1) / TILE;
    std::vector<unsigned> h_in(n), expected(n), h_out(n);
    for (int i = 0; i < n; i++) h_in[i] = (unsigned)(i * 7919LL % 1000);
    std::partial_sum(h_in.begin(), h_in.end(), expected.begin());

    unsigned *d_in, *d_out;
    unsigned long long *d_state;
    int *d_next;
    checkCuda(cudaMalloc(&d_in, n * sizeof(unsigned)));
    checkCuda(cudaMalloc(&d_out, n * sizeof(unsigned)));
    checkCuda(cudaMalloc(&d_state, tiles * sizeof(*d_state)));
    checkCuda(cudaMalloc(&d_next, sizeof(int)));
    checkCuda(cudaMemcpy(d_in, h_in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    bool ok = true;
    for (int version = 0; version < 2; version++) {
        checkCuda(cudaMemset(d_out, 0xff, n * sizeof(unsigned)));
        if (version == 0) {
            scan_recursive(d_out, d_in, n);
        } else {
            checkCuda(cudaMemset(d_state, 0, tiles * sizeof(*d_state)));
            checkCuda(cudaMemset(d_next, 0, sizeof(int)));
            scan_one_pass<<<tiles, THREADS>>>(d_out, d_state, d_next, d_in, n);
            checkCuda(cudaGetLastError());
        }
        checkCuda(cudaMemcpy(h_out.data(), d_out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
        bool same = h_out == expected;
        printf("%-16s %s, last = %u\n", version ? "look-back" : "three phases", same ? "OK" : "WRONG", h_out[n - 1]);
        ok = ok && same;
    }
    checkCuda(cudaFree(d_in)); checkCuda(cudaFree(d_out)); checkCuda(cudaFree(d_state)); checkCuda(cudaFree(d_next));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

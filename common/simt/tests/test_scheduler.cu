// Blocks that synchronise: by atomics, by polling memory, at the grid barrier; and warps that poll warps.
#include <cooperative_groups.h>
#include <cstdio>

// Every block takes a ticket: in canonical order it is the block's own number.
__global__ void tickets(unsigned *counter, unsigned *out) {
    if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(counter, 1u);
}

// The sum of floats of very different sizes depends on the order of the additions.
__global__ void sum_in_order(float *sum, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, in[i]);
}

// The last block to finish adds the partial results: the pattern of one-pass reductions.
__global__ void last_block(float *out, volatile float *partial, unsigned *ticket, const float *in, int n) {
    __shared__ bool last;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned b = 0; b < gridDim.x; b++) total += partial[b];
        *out = total;
    }
}

// Each block waits for the one after it: the first blocks poll until the last has run.
__global__ void wait_for_next(volatile int *done, int *order) {
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < gridDim.x)
            while (done[blockIdx.x + 1] == 0)
                ;
        order[blockIdx.x] = 1;
        __threadfence();
        done[blockIdx.x] = 1;
    }
}

// A hand-made barrier of all blocks, and a value that passes through all blocks by it.
__device__ void grid_barrier(unsigned *arrived, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < goal) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
}

__global__ void rotate(int *a, int *b, unsigned *arrived, int rounds) {
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        b[(i + 1) % n] = a[i];
        grid_barrier(arrived, (2 * r + 1) * gridDim.x);
        a[i] = b[i];
        grid_barrier(arrived, (2 * r + 2) * gridDim.x);
    }
}

__global__ void rotate_cooperative(int *a, int *b, int rounds) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        b[(i + 1) % n] = a[i];
        grid.sync();
        a[i] = b[i];
        grid.sync();
    }
}

// Warp 0 waits for warp 1, which waits for warp 2: through volatile shared memory, without a barrier.
__global__ void warp_chain(int *out) {
    __shared__ volatile int flag[3];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x < 3) flag[threadIdx.x] = 0;
    __syncthreads();
    if (lane == 0) {
        if (warp < 2)
            while (flag[warp + 1] == 0)
                ;
        __threadfence_block();
        flag[warp] = 1;
    }
    __syncwarp();
    out[threadIdx.x] = flag[warp];
}

// Half of the lanes come to the shuffle from code behind it, with more accesses than their traces have room for.
__global__ void from_behind(int *out, const int *in, int n) {
    int lane = threadIdx.x, sum = 0;
    if (lane % 2 == 1) goto behind;
meet:
    out[lane] = __shfl_xor_sync(0xffffffffu, sum, 1);
    return;
behind:
    for (int i = 0; i < n; i++) sum += in[i] + 1;
    goto meet;
}

// A lock that all lanes of all blocks acquire and release within one branch, which works on Volta and later.
__global__ void locked_increment(int *lock, volatile int *value) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *value = *value + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void order_of_blocks(unsigned *counter, unsigned *rank) {
    rank[blockIdx.x] = atomicAdd(counter, 1u);
}

__global__ void geometry(int *count) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    count[i] += 1 + (int)i;
}

template <class T> static T *device(int n) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}

template <class T> static void fetch(T *to, const T *from, int n) {
    cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost);
}

extern "C" {

int run_tickets(int blocks, unsigned *out) {
    unsigned *counter = device<unsigned>(1), *got = device<unsigned>(blocks);
    tickets<<<blocks, 64>>>(counter, got);
    fetch(out, got, blocks);
    return cudaDeviceSynchronize();
}

float run_sum(const float *in, int n) {
    float *sum = device<float>(1), *data = device<float>(n), result;
    cudaMemcpy(data, in, n * sizeof(float), cudaMemcpyHostToDevice);
    sum_in_order<<<(n + 63) / 64, 64>>>(sum, data, n);
    fetch(&result, sum, 1);
    return result;
}

float run_last_block(const float *in, int n) {
    float *out = device<float>(1), *partial = device<float>(64), *data = device<float>(n), result;
    unsigned *ticket = device<unsigned>(1);
    cudaMemcpy(data, in, n * sizeof(float), cudaMemcpyHostToDevice);
    last_block<<<64, 32>>>(out, partial, ticket, data, n);
    fetch(&result, out, 1);
    return result;
}

int run_wait_for_next(int blocks, int *order) {
    int *done = device<int>(blocks), *got = device<int>(blocks);
    wait_for_next<<<blocks, 32>>>(done, got);
    fetch(order, got, blocks);
    return cudaDeviceSynchronize();
}

int run_rotate(int blocks, int threads, int rounds, int cooperative, int *out) {
    int n = blocks * threads;
    int *a = device<int>(n), *b = device<int>(n), *start = new int[n];
    unsigned *arrived = device<unsigned>(1);
    for (int i = 0; i < n; i++) start[i] = i;
    cudaMemcpy(a, start, n * sizeof(int), cudaMemcpyHostToDevice);
    if (cooperative) {
        void *arguments[] = {&a, &b, &rounds};
        cudaLaunchCooperativeKernel(rotate_cooperative, blocks, threads, arguments, 0, 0);
    } else {
        rotate<<<blocks, threads>>>(a, b, arrived, rounds);
    }
    fetch(out, a, n);
    delete[] start;
    return cudaDeviceSynchronize();
}

int run_warp_chain(int *out) {
    int *got = device<int>(96);
    warp_chain<<<1, 96>>>(got);
    fetch(out, got, 96);
    return cudaDeviceSynchronize();
}

int run_from_behind(int n, int *out) {
    int *got = device<int>(32), *in = device<int>(n);
    from_behind<<<1, 32>>>(got, in, n);
    fetch(out, got, 32);
    return cudaDeviceSynchronize();
}

int run_locked(int blocks, int threads) {
    int *lock = device<int>(1), *value = device<int>(1), result;
    locked_increment<<<blocks, threads>>>(lock, value);
    fetch(&result, value, 1);
    return cudaDeviceSynchronize() ? -1 : result;
}

int run_geometry(int *out) {
    int *count = device<int>(4 * 3 * 2 * 5 * 4 * 3);
    geometry<<<dim3(4, 3, 2), dim3(5, 4, 3)>>>(count);
    fetch(out, count, 4 * 3 * 2 * 5 * 4 * 3);
    return cudaDeviceSynchronize();
}

int run_wide_grid(int blocks) {
    unsigned *counter = device<unsigned>(1), *rank = device<unsigned>(blocks), last;
    order_of_blocks<<<blocks, 1>>>(counter, rank);
    fetch(&last, counter, 1);
    return (int)last;
}
}

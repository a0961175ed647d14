// needs: sm_80 (__reduce_add_sync)
// Right programs whose blocks share memory: order by atomics, fences, flags, locks, the grid's barrier and launches; or
// every thread accesses only its own elements.
#include "races.cuh"

__global__ void in_place(int *, int *in) {
    for (unsigned i = THREAD; i < 1000; i += gridDim.x * blockDim.x) {
        in[i] = in[i] * 2 + 1;
        in[i] += 3;
    }
}
LAUNCH(in_place, 3, 64)

__global__ void histogram(int *out, int *in) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[(in[THREAD] + threadIdx.x) % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
LAUNCH(histogram, 4, 128)

__device__ unsigned tickets;

__global__ void last_block_reduces(int *out, int *in) {
    __shared__ bool last;
    __shared__ int part[4];
    int sum = __reduce_add_sync(0xffffffff, in[THREAD] + 1);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        in[1024 + blockIdx.x] = part[0] + part[1] + part[2] + part[3];
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        int all = in[1024 + threadIdx.x];
        in[1024 + threadIdx.x] = 0;
        atomicAdd(out, all);
    }
}
LAUNCH(last_block_reduces, 7, 128)

// A common form: every thread stores and fences, one takes the ticket behind the barrier.
__global__ void all_threads_fence(int *out, int *in) {
    __shared__ unsigned ticket;
    in[THREAD] = (int)THREAD;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) ticket = atomicAdd(&tickets, 1u);
    __syncthreads();
    if (ticket == gridDim.x - 1) {
        __threadfence();
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += in[b * blockDim.x + threadIdx.x];
        out[threadIdx.x] = sum;
        if (threadIdx.x == 0) tickets = 0;
    }
}
LAUNCH(all_threads_fence, 5, 64)

__global__ void flag_between_blocks(int *out, int *in) {
    volatile int *flag = out + 1024;
    if (blockIdx.x == 0) {
        in[threadIdx.x] = 42;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (threadIdx.x == 0) {
            while (*flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[threadIdx.x] = in[threadIdx.x];
    }
}
LAUNCH(flag_between_blocks, 2, 64)

__global__ void flag_by_atomics(int *out, int *in) {
    int *flag = out + 1024;
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        in[0] = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        out[blockIdx.x] = in[0];
    }
}
LAUNCH(flag_by_atomics, 3, 32)

__global__ void chain_of_blocks(int *out, int *in) {
    volatile int *flag = out + 1024;
    if (threadIdx.x == 0) {
        int before = 0;
        if (blockIdx.x > 0) {
            while (flag[blockIdx.x - 1] == 0) {}
            __threadfence();
            before = in[blockIdx.x - 1];
        }
        in[blockIdx.x] = before + (int)blockIdx.x;
        __threadfence();
        flag[blockIdx.x] = 1;
        // The value that block 0 stored has been passed on by all blocks between.
        out[blockIdx.x] = in[0];
    }
}
LAUNCH(chain_of_blocks, 6, 32)

__global__ void lock_between_blocks(int *out, int *in) {
    int *lock = out + 1024;
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        in[0] = in[0] + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
LAUNCH(lock_between_blocks, 6, 32)

__global__ void lock_between_lanes(int *out, int *in) {
    int *lock = out + 1024;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            in[0] = in[0] + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
LAUNCH(lock_between_lanes, 2, 64)

__global__ void barrier_by_hand(int *out, int *in) {
    volatile unsigned *arrived = (unsigned *)out + 1024;
    for (unsigned round = 1; round <= 3; round++) {
        in[(round - 1) * 256 + THREAD] = (int)round;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd((unsigned *)arrived, 1u);
            while (*arrived < round * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
        out[THREAD] = in[(round - 1) * 256 + (THREAD + 64) % 256];
    }
}
COOPERATIVE(barrier_by_hand, 4, 64)

__global__ void grid_sync(int *out, int *in) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 4; round++) {
        in[THREAD] = round;
        grid.sync();
        out[THREAD] += in[(THREAD + 64) % 256];
        grid.sync();
    }
}
COOPERATIVE(grid_sync, 4, 64)

__global__ void weights_of_all(int *out, int *in) {
    for (unsigned i = threadIdx.x; i < 100; i += blockDim.x) out[blockIdx.x * 100 + i] = in[i] * in[5] + in[99 - i];
}
LAUNCH(weights_of_all, 6, 64)

__global__ void vectors(int *out, int *in) {
    int4 v = ((int4 *)in)[THREAD];
    v.x += v.w;
    ((int4 *)out)[THREAD] = v;
    out[4 * THREAD + 1] = 5;
    ((int2 *)out)[2 * THREAD] = make_int2(1, 2);
}
LAUNCH(vectors, 2, 64)

__global__ void step(int *out, int *in) {
    out[THREAD] = in[(THREAD + 77) % 512] + 1;
}
extern "C" int run_launches_are_ordered() {
    prepare();
    step<<<8, 64>>>(result, data);
    step<<<8, 64>>>(data, result);
    step<<<4, 128>>>(result, data);
    return cudaDeviceSynchronize();
}

// Compare-and-swap loops. However the first read is written, it may meet the swaps of other threads.
#define SWAP_LOOP(name, T, place, first_read, swapped)                   \
    __global__ void name(int *out, int *in) {                            \
        T *a = (T *)(out + 1024);                                        \
        unsigned i = threadIdx.x % 3;                                    \
        place;                                                           \
        T old = first_read, expected;                                    \
        do {                                                             \
            expected = old;                                              \
            old = atomicCAS(swapped, expected, expected + (T)in[0] + 1); \
        } while (old != expected);                                       \
    }                                                                    \
    LAUNCH(name, 4, 64)
SWAP_LOOP(swap_plain, int, int *p = a + i, *p, p)
SWAP_LOOP(swap_first_element, int, int *p = a + i, p[0], p)
SWAP_LOOP(swap_cast, unsigned, int *p = (int *)a + i, *p, (unsigned *)p)
SWAP_LOOP(swap_other_pointer, unsigned long long, unsigned *p = (unsigned *)(a + i);
          unsigned long long *q = (unsigned long long *)p, *(unsigned long long *)p, q)
SWAP_LOOP(swap_element, int, , a[i], &a[i])
SWAP_LOOP(swap_element_by_sum, int, , a[i], a + i)
SWAP_LOOP(swap_sum_by_element, int, , *(a + i), &a[i])
SWAP_LOOP(swap_cached, int, int *p = a + i, __ldcg(p), p)
SWAP_LOOP(swap_cached_element, int, , __ldcv(&a[i]), &a[i])
SWAP_LOOP(swap_volatile, int, int *p = a + i, *(volatile int *)p, p)
SWAP_LOOP(swap_atomic, int, int *p = a + i, atomicAdd(p, 0), p)

struct counter {
    int hits, limit;
};
__global__ void swap_member(int *out, int *) {
    counter *c = (counter *)(out + 1024);
    int old = c->hits, expected;
    do {
        expected = old;
        old = atomicCAS(&c->hits, expected, expected + 1);
    } while (old != expected);
}
LAUNCH(swap_member, 4, 64)

/* Rows of 40 words: blocks on different OS threads share lines of the detector's memory. Shortest paths, in place. */
__global__ void relax(int *distance, int k) {
    __shared__ int to_k;
    int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) to_k = distance[i * 40 + k];
    __syncthreads();
    if (j >= 40 || i == k || j == k) return;
    int through = to_k + distance[k * 40 + j];
    if (through < distance[i * 40 + j]) distance[i * 40 + j] = through;
}
extern "C" int run_rows_that_share_lines() {
    int start[40 * 40], *distance;
    for (int i = 0; i < 40 * 40; i++) start[i] = i / 40 == i % 40 ? 0 : (i * 7919) % 997;
    cudaMalloc(&distance, sizeof start);
    cudaMemcpy(distance, start, sizeof start, cudaMemcpyHostToDevice);
    for (int k = 0; k < 40; k++) relax<<<dim3(2, 40), 32>>>(distance, k);
    int error = cudaDeviceSynchronize();
    cudaFree(distance);
    return error;
}

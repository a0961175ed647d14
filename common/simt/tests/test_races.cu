// needs: sm_80 (__reduce_add_sync)
// Planted races, each with its two lines marked, and right programs that use every means of order there is.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

namespace {
enum { N = 1 << 16 };
int *data, *result;
} // namespace

// Initialised memory, made once; zeroed before every launch.
static void prepare() {
    if (data == nullptr) {
        cudaMalloc(&data, N * sizeof(int));
        cudaMalloc(&result, N * sizeof(int));
    }
    cudaMemset(data, 0, N * sizeof(int));
    cudaMemset(result, 0, N * sizeof(int));
}

#define LAUNCH(name, grid, block)            \
    extern "C" int run_##name() {            \
        prepare();                           \
        name<<<grid, block>>>(result, data); \
        return cudaDeviceSynchronize();      \
    }
#define COOPERATIVE(name, grid, block)                                                       \
    extern "C" int run_##name() {                                                            \
        prepare();                                                                           \
        void *arguments[] = {&result, &data};                                                \
        cudaLaunchCooperativeKernel((void *)name, dim3(grid), dim3(block), arguments, 0, 0); \
        return cudaDeviceSynchronize();                                                      \
    }

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

// ======================================================================================================= planted

__global__ void missing_barrier(int *out, int *) {
    __shared__ int s[64];
    s[threadIdx.x] = (int)threadIdx.x;      // here: stores its own
    out[threadIdx.x] = s[63 - threadIdx.x]; // here: loads another warp's
}
LAUNCH(missing_barrier, 1, 64)

__global__ void missing_syncwarp(int *out, int *) {
    __shared__ int s[32];
    s[threadIdx.x] = (int)threadIdx.x;     // here: stores in the warp
    out[threadIdx.x] = s[threadIdx.x ^ 1]; // here: loads the neighbour
}
LAUNCH(missing_syncwarp, 1, 32)

__global__ void shuffle_is_no_sync(int *out, int *) {
    __shared__ int s[32];
    s[threadIdx.x] = (int)threadIdx.x; // here: stores before the shuffle
    int x = __shfl_xor_sync(0xffffffff, (int)threadIdx.x, 1);
    out[threadIdx.x] = x + s[threadIdx.x ^ 1]; // here: loads behind the shuffle
}
LAUNCH(shuffle_is_no_sync, 1, 32)

__global__ void store_after_load(int *out, int *) {
    __shared__ int part[4];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = 1;
    __syncthreads();
    int sum = part[0] + part[1] + part[2] + part[3];         // here: loads all parts
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum; // here: stores for the next phase
    __syncthreads();
    out[threadIdx.x] = part[0];
}
LAUNCH(store_after_load, 1, 128)

__global__ void missing_barrier_in_loop(int *out, int *in) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        s[threadIdx.x] = in[i * 64 + threadIdx.x] + i; // here: stores the next tile
        __syncthreads();
        sum += s[63 - threadIdx.x]; // here: loads this tile
    }
    out[threadIdx.x] = sum;
}
LAUNCH(missing_barrier_in_loop, 1, 64)

__global__ void blocks_store_alike(int *out, int *) {
    if (threadIdx.x == 0) out[0] = (int)blockIdx.x; // here: every block stores
}
LAUNCH(blocks_store_alike, 4, 32)

__global__ void reads_other_block(int *out, int *) {
    out[THREAD] = (int)THREAD; // here: stores of a block
    __syncthreads();
    int neighbour = out[(THREAD + 64) % 256]; // here: loads the next block's
    if (neighbour < 0) out[1000] = neighbour;
}
LAUNCH(reads_other_block, 4, 64)

__global__ void stencil_in_place(int *, int *in) {
    int i = (int)THREAD + 1;
    int sum = in[i - 1] + in[i + 1]; // here: loads the neighbours
    in[i] = sum + i;                 // here: stores in place
}
LAUNCH(stencil_in_place, 2, 64)

__global__ void same_byte(int *out, int *) {
    ((char *)out)[threadIdx.x / 2] = (char)threadIdx.x; // here: two lanes, one byte
}
LAUNCH(same_byte, 1, 32)

__global__ void same_short(int *out, int *) {
    ((short *)out)[threadIdx.x & ~32u] = (short)threadIdx.x; // here: two warps, one short
}
LAUNCH(same_short, 1, 64)

__global__ void init_then_atomic(int *out, int *) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0; // here: zeroes the sum
    atomicAdd(&sum, 1);            // here: adds to the sum
    __syncthreads();
    out[threadIdx.x] = sum;
}
LAUNCH(init_then_atomic, 1, 64)

__global__ void atomic_then_read(int *out, int *) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1);     // here: adds its part
    out[threadIdx.x] = sum; // here: loads too early
}
LAUNCH(atomic_then_read, 1, 64)

__device__ unsigned tickets;

__global__ void ticket_without_fence(int *out, int *in) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        in[blockIdx.x] = (int)blockIdx.x + 1; // here: stores the part
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = in[threadIdx.x]; // here: the last block loads
}
LAUNCH(ticket_without_fence, 8, 32)

__global__ void flag_without_fence(int *out, int *in) {
    volatile int *flag = out + 1024;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        in[0] = 42; // here: stores the message
        *flag = 1;
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (*flag == 0) {}
        out[0] = in[0]; // here: loads the message
    }
}
LAUNCH(flag_without_fence, 2, 32)

__global__ void sync_of_half(int *out, int *) {
    __shared__ int s[32];
    s[threadIdx.x] = (int)threadIdx.x; // here: all lanes store
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        out[threadIdx.x] = s[threadIdx.x + 16]; // here: loads the other half
    }
}
LAUNCH(sync_of_half, 1, 32)

__global__ void across_tiles(int *out, int *) {
    __shared__ int s[32];
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[threadIdx.x] = (int)threadIdx.x; // here: stores in its tile
    tile.sync();
    out[threadIdx.x] = s[threadIdx.x ^ 8]; // here: loads from another tile
}
LAUNCH(across_tiles, 1, 32)

__global__ void rows_overlap(int *out, int *) {
    for (int i = 0; i <= 40; i++) out[threadIdx.x * 40 + i] = (int)threadIdx.x; // here: one too many
}
LAUNCH(rows_overlap, 1, 32)

__global__ void all_readers_count(int *out, int *) {
    __shared__ int s;
    if (threadIdx.x == 5) s = 1;
    __syncwarp();
    int x = s;                   // here: all lanes load
    if (threadIdx.x == 0) s = 2; // here: the first reader stores
    out[threadIdx.x] = x;
}
LAUNCH(all_readers_count, 1, 32)

// Lane 0 comes after lanes 0 to 15 only; lane 20 has read as well.
__global__ void not_every_reader_is_ordered(int *out, int *) {
    __shared__ int s;
    if (threadIdx.x == 3) s = 1;
    __syncwarp();
    int x = threadIdx.x < 16 || threadIdx.x == 20 ? s : 0; // here: seventeen lanes load
    if (threadIdx.x < 16) __syncwarp(0x0000ffff);
    if (threadIdx.x == 0) s = 2; // here: ordered after sixteen
    out[threadIdx.x] = x;
}
LAUNCH(not_every_reader_is_ordered, 1, 32)

__global__ void lockstep_belief(int *out, int *in) {
    __shared__ volatile int s[64];
    s[threadIdx.x] = in[threadIdx.x] + (int)threadIdx.x;
    s[threadIdx.x + 32] = 0;
    __syncwarp();
    s[threadIdx.x] += s[threadIdx.x + 16]; // here: believes in lockstep
    out[threadIdx.x] = s[threadIdx.x];
}
LAUNCH(lockstep_belief, 1, 32)

__global__ void vector_over_scalar(int *out, int *) {
    __shared__ __align__(16) int s[128];
    ((int4 *)s)[threadIdx.x] = make_int4(1, 2, 3, 4); // here: stores four
    if (threadIdx.x == 3) s[21] = 7;                  // here: stores one of another's
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
LAUNCH(vector_over_scalar, 1, 32)

__global__ void histogram_without_atomics(int *out, int *in) {
    int bin = (in[THREAD] + (int)THREAD) % 8;
    out[bin]++; // here: loads, adds, stores
}
LAUNCH(histogram_without_atomics, 2, 32)

__device__ int counter;
__global__ void device_counter(int *, int *) {
    if (threadIdx.x == 0) counter = counter + 1; // here: every block counts
}
LAUNCH(device_counter, 3, 32)

extern __shared__ int dynamic[];
__global__ void dynamic_shared(int *out, int *) {
    dynamic[threadIdx.x] = (int)threadIdx.x;             // here: stores to dynamic memory
    out[threadIdx.x] = dynamic[(threadIdx.x + 32) % 64]; // here: loads from dynamic memory
}
extern "C" int run_dynamic_shared() {
    prepare();
    dynamic_shared<<<1, 64, 64 * sizeof(int)>>>(result, data);
    return cudaDeviceSynchronize();
}

__global__ void tail_is_not_alone(int *out, int *) {
    unsigned i = THREAD < 100 ? THREAD : 99;
    out[i] = (int)THREAD; // here: the tail stores once more
}
LAUNCH(tail_is_not_alone, 2, 64)

// ------------------------------------------------------------------------------------------------ notes only

__global__ void same_value(int *out, int *) {
    __shared__ int any;
    any = 1; // here: all store one
    __syncthreads();
    out[threadIdx.x] = any;
}
LAUNCH(same_value, 1, 64)

__global__ void same_values_by_each_warp(int *out, int *) {
    __shared__ int square[32];
    square[threadIdx.x % 32] = (int)(threadIdx.x % 32 * threadIdx.x % 32); // here: each warp stores the table
    __syncthreads();
    out[threadIdx.x] = square[threadIdx.x % 32];
}
LAUNCH(same_values_by_each_warp, 1, 64)

// ========================================================================================================= right

__global__ void tree(int *out, int *in) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x] + 1;
    __syncthreads();
    for (unsigned half = 128; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = s[0];
}
LAUNCH(tree, 1, 256)

__global__ void warp_tree(int *out, int *in) {
    __shared__ volatile int s[64];
    unsigned lane = threadIdx.x;
    int x = in[lane] + 1;
    s[lane] = x;
    s[lane + 32] = 0;
    __syncwarp();
    for (unsigned half = 16; half; half /= 2) {
        x += s[lane + half];
        __syncwarp();
        s[lane] = x;
        __syncwarp();
    }
    out[lane] = s[0];
}
LAUNCH(warp_tree, 1, 32)

__global__ void double_buffer(int *out, int *in) {
    __shared__ int s[2][64];
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        s[i % 2][threadIdx.x] = in[i * 64 + threadIdx.x];
        __syncthreads();
        sum += s[i % 2][63 - threadIdx.x];
    }
    out[THREAD] = sum;
}
LAUNCH(double_buffer, 2, 64)

__global__ void in_place(int *, int *in) {
    for (unsigned i = THREAD; i < 1000; i += gridDim.x * blockDim.x) {
        in[i] = in[i] * 2 + 1;
        in[i] += 3;
    }
}
LAUNCH(in_place, 3, 64)

__global__ void transpose(int *out, int *in) {
    __shared__ int tile[32][33];
    for (unsigned y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = in[(blockIdx.y * 32 + y) * 64 + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (unsigned y = threadIdx.y; y < 32; y += 8)
        out[(blockIdx.x * 32 + y) * 64 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}
LAUNCH(transpose, dim3(2, 2), dim3(32, 8))

__global__ void bytes_and_shorts(int *out, int *) {
    __shared__ char c[64];
    __shared__ short h[64];
    c[threadIdx.x] = (char)threadIdx.x;
    h[63 - threadIdx.x] = (short)threadIdx.x;
    ((char *)out)[4096 + THREAD] = (char)threadIdx.x;
    ((short *)out)[4096 + THREAD] = (short)threadIdx.x;
    __syncthreads();
    out[THREAD] = c[63 - threadIdx.x] + h[threadIdx.x];
}
LAUNCH(bytes_and_shorts, 2, 64)

__global__ void histogram(int *out, int *in) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[(in[THREAD] + threadIdx.x) % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
LAUNCH(histogram, 4, 128)

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

// As often written: every thread stores and fences, one takes the ticket behind the barrier.
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
        // What block 0 stored has come here through all blocks between.
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

__global__ void warps_hand_over(int *out, int *) {
    __shared__ int message;
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        message = 7;
        __threadfence_block();
        ready = 1;
    }
    if (threadIdx.x == 32) {
        while (ready == 0) {}
        __threadfence_block();
        out[0] = message;
    }
}
LAUNCH(warps_hand_over, 1, 64)

__global__ void weights_of_all(int *out, int *in) {
    for (unsigned i = threadIdx.x; i < 100; i += blockDim.x) out[blockIdx.x * 100 + i] = in[i] * in[5] + in[99 - i];
}
LAUNCH(weights_of_all, 6, 64)

__global__ void early_exit(int *out, int *in) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x >= 32) return;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 32];
}
LAUNCH(early_exit, 1, 64)

__global__ void half_exchanges(int *out, int *) {
    __shared__ int s[32];
    s[threadIdx.x] = (int)threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        int x = s[15 - threadIdx.x];
        __syncwarp(0x0000ffff);
        s[threadIdx.x] = x;
        out[threadIdx.x] = x;
    }
}
LAUNCH(half_exchanges, 1, 32)

__global__ void tiles(int *out, int *) {
    __shared__ int s[32];
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int x = (int)threadIdx.x;
    for (unsigned d = 1; d < 8; d *= 2) {
        s[threadIdx.x] = x;
        tile.sync();
        x += s[threadIdx.x ^ d];
        tile.sync();
    }
    out[threadIdx.x] = x;
}
LAUNCH(tiles, 1, 32)

// Parts synchronise first, then all; the readers' clocks differ until then.
__global__ void parts_then_all(int *out, int *) {
    __shared__ int s;
    if (threadIdx.x == 3) s = 1;
    __syncwarp();
    int x = 0;
    if (threadIdx.x < 8) {
        __syncwarp(0x000000ff);
        __syncwarp(0x000000ff);
    }
    x = s;
    if (threadIdx.x < 16) __syncwarp(0x0000ffff);
    x += s;
    __syncwarp();
    if (threadIdx.x == 31) s = 2;
    out[threadIdx.x] = x;
}
LAUNCH(parts_then_all, 1, 32)

__global__ void vectors(int *out, int *in) {
    int4 v = ((int4 *)in)[THREAD];
    v.x += v.w;
    ((int4 *)out)[THREAD] = v;
    out[4 * THREAD + 1] = 5;
    ((int2 *)out)[2 * THREAD] = make_int2(1, 2);
}
LAUNCH(vectors, 2, 64)

__global__ void reused_by_other_lanes(int *out, int *in) {
    __shared__ int s[128];
    for (int round = 0; round < 3; round++) {
        s[(threadIdx.x * 3 + round) % 128] = in[threadIdx.x] + round;
        __syncthreads();
        int x = s[(threadIdx.x * 5 + round) % 128];
        __syncthreads();
        s[threadIdx.x] = x;
        __syncthreads();
        if (threadIdx.x == 0) out[blockIdx.x * 3 + round] = s[127];
        __syncthreads();
    }
}
LAUNCH(reused_by_other_lanes, 3, 128)

__global__ void read_then_written_behind_barrier(int *, int *in) {
    int x = in[blockIdx.x * 64 + 63 - threadIdx.x];
    __syncthreads();
    in[THREAD] = x + 1;
    __syncthreads();
    int y = in[blockIdx.x * 64 + (threadIdx.x + 32) % 64];
    __syncthreads();
    in[THREAD] = y;
}
LAUNCH(read_then_written_behind_barrier, 3, 64)

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

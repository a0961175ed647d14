// Planted races, each with its two lines marked.
#include "races.cuh"

__global__ void missing_barrier(int *out, int *) {
    __shared__ int s[64];
    s[threadIdx.x] = (int)threadIdx.x;      // here: stores its own
    out[threadIdx.x] = s[63 - threadIdx.x]; // here: loads another warp's
}
LAUNCH(missing_barrier, 1, 64)

__global__ void missing_barrier_before_sum(int *out, int *) {
    __shared__ int s[64];
    s[threadIdx.x] = (int)threadIdx.x; // here: every warp stores
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += s[i]; // here: each thread loads all
    out[threadIdx.x] = sum;
}
LAUNCH(missing_barrier_before_sum, 1, 64)

__global__ void sum_of_each_warp(int *out, int *) {
    __shared__ int s[2][32];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    s[warp][lane] = (int)lane; // here: each warp stores apart
    int sum = 0;
    for (int i = 0; i < 32; i++) sum += s[warp][i]; // here: loads of its own warp
    out[threadIdx.x] = sum;
}
LAUNCH(sum_of_each_warp, 1, 64)

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
    s[threadIdx.x] += s[threadIdx.x + 16]; // here: assumes lockstep
    out[threadIdx.x] = s[threadIdx.x];
}
LAUNCH(lockstep_belief, 1, 32)

// The flag's store, at a later clock than all accesses to its line, must not hide them.
__global__ void stored_beside_flags(int *out, int *) {
    __shared__ __align__(128) int line[32];
    volatile int *flag = &line[16];
    if (threadIdx.x == 0) {
        line[0] = 0;
        *flag = 1;
    }
    __syncwarp();
    if (threadIdx.x == 1) line[0] = 7; // here: stores beside the flag
    if (threadIdx.x == 2) {
        __threadfence_block();
        *flag = 2;
    }
    if (threadIdx.x == 3) out[0] = line[0]; // here: loads beside the flag
}
LAUNCH(stored_beside_flags, 1, 32)

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

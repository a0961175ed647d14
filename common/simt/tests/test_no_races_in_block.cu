// Right programs whose threads share a block: order by barriers, __syncwarp, tiles and fences.
#include "races.cuh"

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

// The second flag is stored at a later clock than all accesses to its line.
__global__ void words_beside_flags(int *out, int *) {
    __shared__ __align__(128) int line[32];
    volatile int *flag = &line[16];
    if (threadIdx.x == 33) {
        line[0] = 1;
        *flag = 1;
    }
    __syncwarp();
    if (threadIdx.x == 33) {
        *flag = 2;
        line[0] += 1;
        out[0] = line[0];
    }
}
LAUNCH(words_beside_flags, 1, 64)

// The loop of the other half fills its traces while this half meets.
__global__ void half_exchanges_behind_a_loop(int *out, int *in) {
    __shared__ int s[16];
    int x = 0;
    if (threadIdx.x >= 16) {
        for (int i = 0; i < 1000; i++) x += in[i];
    } else {
        s[threadIdx.x] = (int)threadIdx.x;
        __syncwarp(0x0000ffff);
        x = s[15 - threadIdx.x];
    }
    out[threadIdx.x] = x;
}
LAUNCH(half_exchanges_behind_a_loop, 1, 32)

__global__ void half_comes_from_behind(int *out, int *) {
    __shared__ int s[32];
    s[threadIdx.x] = 0;
    if (threadIdx.x >= 16) goto behind;
meet:
    __syncwarp();
    out[threadIdx.x] = s[31 - threadIdx.x];
    return;
behind:
    for (int i = 0; i < 3; i++) s[threadIdx.x] += i;
    goto meet;
}
LAUNCH(half_comes_from_behind, 1, 32)

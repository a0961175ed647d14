// needs: sm_80 (__reduce_add_sync)
// Every warp collective on one warp: lanes in `mask` take part, the others do nothing.
#include <cstdint>

template <class T>
__global__ void shuffle(int mode, unsigned mask, int width, const int *operand, const T *in, T *out) {
    int lane = threadIdx.x;
    T value = in[lane], result = value;
    if (mask >> lane & 1) {
        switch (mode) {
            case 0: result = __shfl_sync(mask, value, operand[lane], width); break;
            case 1: result = __shfl_up_sync(mask, value, (unsigned)operand[lane], width); break;
            case 2: result = __shfl_down_sync(mask, value, (unsigned)operand[lane], width); break;
            default: result = __shfl_xor_sync(mask, value, operand[lane], width);
        }
    }
    out[lane] = result;
}

__global__ void votes(unsigned mask, const int *in, unsigned *any, unsigned *all, unsigned *ballot, unsigned *match,
                      unsigned *match_all, int *same) {
    int lane = threadIdx.x;
    if (mask >> lane & 1) {
        any[lane] = __any_sync(mask, in[lane] & 1);
        all[lane] = __all_sync(mask, in[lane] & 2);
        ballot[lane] = __ballot_sync(mask, in[lane] & 4);
        match[lane] = __match_any_sync(mask, in[lane]);
        match_all[lane] = __match_all_sync(mask, in[lane] & 8, &same[lane]);
    }
}

__global__ void reduces(unsigned mask, const int *in, int *out) {
    int lane = threadIdx.x, v = in[lane];
    unsigned u = (unsigned)v;
    int *to = out + 8 * lane;
    if (mask >> lane & 1) {
        to[0] = __reduce_add_sync(mask, v);
        to[1] = __reduce_min_sync(mask, v);
        to[2] = __reduce_max_sync(mask, v);
        to[3] = (int)__reduce_min_sync(mask, u);
        to[4] = (int)__reduce_max_sync(mask, u);
        to[5] = (int)__reduce_and_sync(mask, u);
        to[6] = (int)__reduce_or_sync(mask, u);
        to[7] = (int)__reduce_xor_sync(mask, u);
    }
}

// Four groups of eight lanes that diverge.
__global__ void groups(int *out) {
    int lane = threadIdx.x, group = lane / 8;
    unsigned mask = 0xffu << (8 * group);
    int value = lane;
    for (int i = 0; i <= group; i++) value += __shfl_xor_sync(mask, value, 1);
    if (group % 2) value = __shfl_sync(mask, value, 0, 8);
    __syncwarp(mask);
    out[lane] = value;
}

__global__ void active(unsigned *out) {
    int lane = threadIdx.x;
    if (lane % 3 == 0)
        out[lane] = __activemask();
    else
        out[lane] = ~__activemask();
    out[32 + lane] = __activemask();
}

// A block whose second warp has 16 lanes, and lanes that have exited.
__global__ void partial(int *out, unsigned *ballot) {
    int v = 1;
    if (threadIdx.x == 47) return;
    for (int offset = 8; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset, 8);
    ballot[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
    out[threadIdx.x] = v;
}

// Block barriers that count.
__global__ void barriers(int *out) {
    int t = threadIdx.x;
    out[3 * t] = __syncthreads_count(t % 3 == 0);
    out[3 * t + 1] = __syncthreads_and(t < 70);
    out[3 * t + 2] = __syncthreads_or(t == 69);
}

// Shared memory between lanes: ordered by __syncwarp alone.
__global__ void syncwarp_orders(int *out) {
    __shared__ int s[64];
    int base = threadIdx.x & ~31, lane = threadIdx.x & 31;
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    for (int offset = 1; offset < 32; offset *= 2) {
        int v = s[base + (lane + offset) % 32];
        __syncwarp();
        s[threadIdx.x] += v;
        __syncwarp();
    }
    out[threadIdx.x] = s[threadIdx.x];
}

template <class T> struct on_device {
    T *pointer;
    int n;
    on_device(const T *from, int count) : n(count) {
        cudaMalloc(&pointer, n * sizeof(T));
        if (from)
            cudaMemcpy(pointer, from, n * sizeof(T), cudaMemcpyHostToDevice);
        else
            cudaMemset(pointer, 0, n * sizeof(T));
    }
    ~on_device() { cudaFree(pointer); }
    void fetch(T *to) { cudaMemcpy(to, pointer, n * sizeof(T), cudaMemcpyDeviceToHost); }
};

template <class T> int run_shuffle(int mode, unsigned mask, int width, const int *operand, const T *in, T *out) {
    on_device<int> operands(operand, 32);
    on_device<T> from(in, 32), to(nullptr, 32);
    shuffle<T><<<1, 32>>>(mode, mask, width, operands.pointer, from.pointer, to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}

extern "C" {

int run_shuffle_int(int mode, unsigned mask, int width, const int *operand, const int *in, int *out) {
    return run_shuffle<int>(mode, mask, width, operand, in, out);
}
int run_shuffle_long(int mode, unsigned mask, int width, const int *operand, const int64_t *in, int64_t *out) {
    return run_shuffle<long long>(mode, mask, width, operand, (const long long *)in, (long long *)out);
}
int run_shuffle_double(int mode, unsigned mask, int width, const int *operand, const double *in, double *out) {
    return run_shuffle<double>(mode, mask, width, operand, in, out);
}

int run_votes(unsigned mask, const int *in, unsigned *out) // any, all, ballot, match, match_all, same: 32 each
{
    on_device<int> from(in, 32), same(nullptr, 32);
    on_device<unsigned> to(nullptr, 5 * 32);
    unsigned *p = to.pointer;
    votes<<<1, 32>>>(mask, from.pointer, p, p + 32, p + 64, p + 96, p + 128, same.pointer);
    to.fetch(out);
    same.fetch((int *)out + 160);
    return cudaDeviceSynchronize();
}

int run_reduces(unsigned mask, const int *in, int *out) {
    on_device<int> from(in, 32), to(nullptr, 256);
    reduces<<<1, 32>>>(mask, from.pointer, to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}

int run_groups(int *out) {
    on_device<int> to(nullptr, 32);
    groups<<<1, 32>>>(to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}

int run_active(unsigned *out) {
    on_device<unsigned> to(nullptr, 64);
    active<<<1, 32>>>(to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}

int run_partial(int *out, unsigned *ballot) {
    on_device<int> to(nullptr, 48);
    on_device<unsigned> seen(nullptr, 48);
    partial<<<1, 48>>>(to.pointer, seen.pointer);
    to.fetch(out);
    seen.fetch(ballot);
    return cudaDeviceSynchronize();
}

int run_barriers(int *out) {
    on_device<int> to(nullptr, 210);
    barriers<<<1, 70>>>(to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}

int run_syncwarp(int *out) {
    on_device<int> to(nullptr, 64);
    syncwarp_orders<<<1, 64>>>(to.pointer);
    to.fetch(out);
    return cudaDeviceSynchronize();
}
}

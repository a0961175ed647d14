// Shuffles of all types, votes, matches and reductions: one warp, of which the lanes of a mask take part.
#include "test_warp.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Bits to a value and back, of 2, 4 or 8 bytes.
template <class T> __device__ T value_of(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> __device__ uint64_t bits_of(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> __device__ uint64_t shuffled(int mode, unsigned mask, int width, int operand, uint64_t bits) {
    T value = value_of<T>(bits);
    switch (mode) {
        case SHUFFLE_TO: return bits_of(__shfl_sync(mask, value, operand, width));
        case SHUFFLE_BY_UP: return bits_of(__shfl_up_sync(mask, value, operand, width));
        case SHUFFLE_BY_DOWN: return bits_of(__shfl_down_sync(mask, value, operand, width));
        default: return bits_of(__shfl_xor_sync(mask, value, operand, width));
    }
}

template <class T>
__global__ void shuffle(int mode, unsigned mask, int width, int operand, uint64_t *out, const uint64_t *values) {
    if (mask >> threadIdx.x & 1) { out[threadIdx.x] = shuffled<T>(mode, mask, width, operand, values[threadIdx.x]); }
}

__device__ unsigned voted(int vote, unsigned mask, unsigned value) {
    int same;
    switch (vote) {
        case VOTE_any: return __any_sync(mask, value);
        case VOTE_all: return __all_sync(mask, value);
        case VOTE_ballot: return __ballot_sync(mask, value);
        case VOTE_uni: return __uni_sync(mask, value);
        case VOTE_activemask: return __activemask();
        case VOTE_match_any: return __match_any_sync(mask, value);
        case VOTE_match_any_wide: return __match_any_sync(mask, (unsigned long long)value << 32);
        case VOTE_match_all: return __match_all_sync(mask, value, &same);
        case VOTE_match_all_predicate: __match_all_sync(mask, (long long)value, &same); return same;
        default: return __match_any_sync(mask, (float)value);
    }
}

__global__ void vote(int which, unsigned mask, uint32_t *out, const uint32_t *values) {
    if (mask >> threadIdx.x & 1) { out[threadIdx.x] = voted(which, mask, values[threadIdx.x]); }
}

__device__ unsigned reduced(int reduction, unsigned mask, unsigned value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    switch (reduction) {
        case REDUCE_add: return __reduce_add_sync(mask, (int)value);
        case REDUCE_uadd: return __reduce_add_sync(mask, value);
        case REDUCE_min: return __reduce_min_sync(mask, (int)value);
        case REDUCE_umin: return __reduce_min_sync(mask, value);
        case REDUCE_max: return __reduce_max_sync(mask, (int)value);
        case REDUCE_umax: return __reduce_max_sync(mask, value);
        case REDUCE_and: return __reduce_and_sync(mask, value);
        case REDUCE_or: return __reduce_or_sync(mask, value);
        case REDUCE_xor: return __reduce_xor_sync(mask, value);
    }
#endif
    return value;
}

__global__ void reduce(int which, unsigned mask, uint32_t *out, const uint32_t *values) {
    if (mask >> threadIdx.x & 1) { out[threadIdx.x] = reduced(which, mask, values[threadIdx.x]); }
}

// One warp; `out` starts as zeros.
template <class T, class Launch> int run(T *out, const T *values, Launch launch) {
    T *device;
    cudaMalloc(&device, 2 * LANES * sizeof *device);
    cudaMemset(device, 0, LANES * sizeof *device);
    cudaMemcpy(device + LANES, values, LANES * sizeof *values, cudaMemcpyHostToDevice);
    launch(device, device + LANES);
    cudaError_t error = cudaMemcpy(out, device, LANES * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error;
}

extern "C" int run_shuffle(int type, int mode, uint32_t mask, int width, int operand, uint64_t *out,
                           const uint64_t *values) {
    static void (*const kernels[SHUFFLE_TYPES])(int, unsigned, int, int, uint64_t *, const uint64_t *) = {
        shuffle<int>,           shuffle<unsigned>,      shuffle<long>,
        shuffle<unsigned long>, shuffle<long long>,     shuffle<unsigned long long>,
        shuffle<float>,         shuffle<double>,        shuffle<__half>,
        shuffle<__half2>,       shuffle<__nv_bfloat16>, shuffle<__nv_bfloat162>,
    };
    return run(out, values,
               [&](uint64_t *o, uint64_t *v) { kernels[type]<<<1, LANES>>>(mode, mask, width, operand, o, v); });
}

extern "C" int run_vote(int which, uint32_t mask, uint32_t *out, const uint32_t *values) {
    return run(out, values, [&](uint32_t *o, uint32_t *v) { vote<<<1, LANES>>>(which, mask, o, v); });
}

extern "C" int run_reduction(int reduction, uint32_t mask, uint32_t *out, const uint32_t *values) {
    return run(out, values, [&](uint32_t *o, uint32_t *v) { reduce<<<1, LANES>>>(reduction, mask, o, v); });
}

// decode_split.cu — attention of one query to the cache, with the keys of a head split over blocks (decode_split.cuh)
//
// Purpose   Decoding at the speed of memory. In the taught kernel a thread reads a key: 32 lanes read 32 rows at once, part by
//           part of each sector, and a batch of one has 12 blocks on a GPU that runs hundreds.
// Math      decode.cuh. Each part of the keys has m = max s, l = sum exp(s - m), o = sum exp(s - m) v. Parts are merged by
//           M = max m,  out = sum exp(m - M) o / sum exp(m - M) l
// Bytes     2 (p + 1) D elements a head. 124M at position 1000 in bf16: 37 MB a token, 8 us on an H200 (4.8 TB/s), 0.65 us a
//           block of the model: the number of bytes in flight decides.
// Kernel    decode_split_kernel<T>: 4 warps. A lane reads 16 bytes of a key, and `lanes` lanes a whole key of D elements. A warp
//           reads 32 / lanes neighbouring keys, 512 contiguous bytes. Each group of lanes applies the online softmax to its keys,
//           `ahead` keys at a time; their loads are issued before the first is used.
//           Splits: the grid is (B H, splits). With 12 heads and 132 multiprocessors a head has 16 parts for 1024 positions. A
//           part has at least 32 keys, so short caches have fewer. The last block of a head to arrive merges the parts, without a
//           second launch. It merges them in order, so the sum does not depend on which block is last.
#include "gpt2/model/decode_split.cuh"

#include "common/dependent_launch.cuh"
#include "common/warp.cuh"
#include "gpt2/model/vec16.cuh"

#include <algorithm>
#include <cmath>

enum { threads_per_block = 128, warps = threads_per_block / warp_size };
enum { ahead = 4, fewest_keys = 32, most_splits = 32, most_channels = 128 };

// qkv and positions are written by the kernel before, so they are not __restrict__: such loads may be moved before the wait.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    decode_split_kernel(T *__restrict__ out,            // (B, H, D)
                        T *__restrict__ k,              // (B, H, S, D)
                        T *__restrict__ v,              // (B, H, S, D)
                        const T *qkv,                   // (B, 3, H, D)
                        const int *positions,           // (B)
                        float *__restrict__ partial,    // (B, H, splits, D + 2): o, then m and l
                        unsigned *__restrict__ arrived, // (B, H)
                        int H, int D, int S, float scale) {
    constexpr int size = vec16<T>::size;
    __shared__ float outs[warps][most_channels], stats[warps][2];
    __shared__ bool merges;
    wait_for_previous_kernel();
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int lanes = D / size, group = lane / lanes, groups = warp_size / lanes, at = lane % lanes * size;
    const int splits = gridDim.y, split = blockIdx.y, h = blockIdx.x % H, b = blockIdx.x / H;
    const int last = positions[b], count = last + 1; // the new token's position, and with it the number of keys
    const int part = max((count + splits - 1) / splits, (int)fewest_keys), parts = (count + part - 1) / part;
    if (split >= parts) { return; }
    const int begin = split * part, end = min(begin + part, count);
    const int64_t head = ((int64_t)b * H + h) * S * D;
    const T *from = qkv + ((int64_t)b * 3 * H + h) * D + at; // Q; K and V are C and 2C further
    const int64_t C = (int64_t)H * D;

    const vec16<T> new_key = vec16_load(from + C), new_value = vec16_load(from + 2 * C);
    float query[size], o[size] = {}, m = -INFINITY, l = 0.0f;
    unpack(query, vec16_load(from));
    if (end == count && warp == 0 && group == 0) { // this step reads them from registers, not from the cache
        *(uint4 *)(k + head + (int64_t)last * D + at) = new_key.bits;
        *(uint4 *)(v + head + (int64_t)last * D + at) = new_value.bits;
    }

    const int step = warps * groups; // keys that the block reads at a time
    for (int first = begin + warp * groups; first < end; first += ahead * step) {
        vec16<T> key[ahead], value[ahead];
        float s[ahead], highest = m;
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            int j = first + i * step + group;
            bool old = j < min(end, last);
            int64_t row = head + (int64_t)(old ? j : begin) * D + at;
            key[i] = old ? vec16_load(k + row) : new_key;
            value[i] = old ? vec16_load(v + row) : new_value;
        }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            float dot = 0.0f, values[size];
            unpack(values, key[i]);
#pragma unroll
            for (int e = 0; e < size; e++) { dot += query[e] * values[e]; }
            dot *= scale;
            for (int offset = lanes / 2; offset > 0; offset /= 2) { dot += __shfl_xor_sync(0xffffffffu, dot, offset); }
            s[i] = first + i * step + group < end ? dot : -INFINITY;
            highest = fmaxf(highest, s[i]);
        }
        if (highest == -INFINITY) { continue; } // this group has had no key yet
        float shrink = expf(m - highest);
        m = highest;
        l *= shrink;
#pragma unroll
        for (int e = 0; e < size; e++) { o[e] *= shrink; }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            float weight = expf(s[i] - m), values[size];
            l += weight;
            unpack(values, value[i]);
#pragma unroll
            for (int e = 0; e < size; e++) { o[e] += weight * values[e]; }
        }
    }

    // The groups of a warp, then the warps of the block.
    float highest = m;
    for (int offset = lanes; offset < warp_size; offset *= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, offset));
    }
    float factor = m == -INFINITY ? 0.0f : expf(m - highest);
    l *= factor;
    for (int offset = lanes; offset < warp_size; offset *= 2) { l += __shfl_xor_sync(0xffffffffu, l, offset); }
#pragma unroll
    for (int e = 0; e < size; e++) {
        o[e] *= factor;
        for (int offset = lanes; offset < warp_size; offset *= 2) {
            o[e] += __shfl_xor_sync(0xffffffffu, o[e], offset);
        }
        if (group == 0) { outs[warp][at + e] = o[e]; }
    }
    if (lane == 0) { stats[warp][0] = highest, stats[warp][1] = l; }
    __syncthreads();

    const int d = threadIdx.x; // most_channels are threads_per_block
    float block_m = -INFINITY, block_l = 0.0f, block_o = 0.0f;
    for (int w = 0; w < warps; w++) { block_m = fmaxf(block_m, stats[w][0]); }
    for (int w = 0; w < warps; w++) {
        float weight = stats[w][0] == -INFINITY ? 0.0f : expf(stats[w][0] - block_m);
        block_l += weight * stats[w][1];
        if (d < D) { block_o += weight * outs[w][d]; }
    }
    T *to = out + ((int64_t)b * H + h) * D;
    if (parts == 1) {
        let_next_kernel_start();
        if (d < D) { to[d] = from_float<T>(block_o / block_l); }
        return;
    }

    // The parts of the head: the last block to arrive merges them.
    const int width = D + 2;
    float *mine = partial + ((int64_t)blockIdx.x * splits + split) * width;
    if (d < D) { mine[d] = block_o; }
    if (d == 0) { mine[D] = block_m, mine[D + 1] = block_l; }
    __threadfence();
    __syncthreads();
    if (d == 0) { merges = atomicAdd(&arrived[blockIdx.x], 1u) == (unsigned)parts - 1; }
    __syncthreads();
    let_next_kernel_start();
    if (!merges) { return; }
    __threadfence();
    const float *first_part = partial + (int64_t)blockIdx.x * splits * width;
    float head_m = -INFINITY, head_l = 0.0f, head_o = 0.0f;
    for (int i = 0; i < parts; i++) { head_m = fmaxf(head_m, first_part[i * width + D]); }
    for (int i = 0; i < parts; i++) {
        float weight = expf(first_part[i * width + D] - head_m);
        head_l += weight * first_part[i * width + D + 1];
        if (d < D) { head_o += weight * first_part[i * width + d]; }
    }
    if (d < D) { to[d] = from_float<T>(head_o / head_l); }
    if (d == 0) { arrived[blockIdx.x] = 0; }
}

// A row is a power of two of 16-byte vectors, at most one for each lane of a warp.
template <class T> bool decode_split_takes(int D) {
    const int lanes = D / vec16<T>::size;
    return D % vec16<T>::size == 0 && D <= most_channels && lanes >= 1 && lanes <= warp_size &&
           (lanes & (lanes - 1)) == 0;
}

int decode_splits(int B, int H, int S, int multiprocessors) {
    const int wanted = (2 * multiprocessors + B * H - 1) / (B * H);
    return std::clamp(std::min(wanted, S / (2 * fewest_keys)), 1, (int)most_splits);
}

template <class T>
int decode_split(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, float *partial,
                 unsigned *arrived, int B, int H, int D, int S, int splits) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3((unsigned)(B * H), (unsigned)splits), config.blockDim = dim3(threads_per_block);
    config.stream = device.stream;
    if (device.capability >= 90) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
    }
    return cudaLaunchKernelEx(&config, decode_split_kernel<T>, out, k, v, qkv, positions, partial, arrived, H, D, S,
                              1.0f / sqrtf((float)D));
}

#define INSTANTIATE(T)                                                                                             \
    template bool decode_split_takes<T>(int);                                                                      \
    template int decode_split(gpt2_device &, T *, T *, T *, const T *, const int *, float *, unsigned *, int, int, \
                              int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

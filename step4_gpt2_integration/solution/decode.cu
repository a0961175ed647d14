// decode.cu — one query against the cache: a block for each sequence and head (lab 4)
//
// Purpose   Decoding. There is one query a head, so the products are matrix times vector, and a library call for each costs
//           more than the work. Nearly all bytes are those of the keys and values.
// Math      gpt2/model/decode.cuh
// Bytes     2 (p + 1) D elements a head: K and V once. 124M at position 1000 in fp32: 74 MB a token, beside 500 MB of weights.
// Steps     1 a thread per key: score = q . k / sqrt(D), kept in shared memory
//           2 the block's maximum and sum
//           3 a thread per channel: out[d] = sum over keys of weight * v[d]; the keys are divided among groups of threads
#include "gpt2/model/decode.cuh"

#include "common/warp.cuh" // lab 2's warp_max and warp_sum

#include <cmath>

enum { threads_per_block = 128, warps = threads_per_block / warp_size };

template <class T>
__global__ void decode_kernel(T *__restrict__ out,               // (B, H, D)
                              T *__restrict__ k,                 // (B, H, S, D)
                              T *__restrict__ v,                 // (B, H, S, D)
                              const T *__restrict__ qkv,         // (B, 3, H, D)
                              const int *__restrict__ positions, // (B)
                              int H, int D, int S, float scale) {
    //:todo 3a The new token: its query into shared memory, its key and value into the cache.
    //: Goal      block (h, b) = (blockIdx.x, blockIdx.y) has its
    //:           query as floats, and position last = positions[b] of
    //:           its part of the cache holds the new key and value.
    //: Shapes    qkv (B, 3, H, D); this head's part of k and v is (S, D). extern
    //:           __shared__ float shared[]: query (D), scores (S), partial
    //:           (threads_per_block), results (warps), as the launch below reserves them.
    //: Contract  right for D above the block's size; nothing else of the cache
    //:           changes; what other threads read is ordered by a barrier.
    //:solution
    extern __shared__ float shared[]; // query (D), scores (S), partial sums (threads), warps' results (warps)
    float *query = shared, *scores = query + D, *partial = scores + S, *results = partial + threads_per_block;
    int h = blockIdx.x, b = blockIdx.y, t = threadIdx.x;
    int last = positions[b];                           // the new token's position
    T *keys = k + ((size_t)b * H + h) * S * D;         // (S, D)
    T *values = v + ((size_t)b * H + h) * S * D;       // (S, D)
    const T *from = qkv + ((size_t)b * 3 * H + h) * D; // (D): Q; K and V are C and 2C further
    const T *new_key = from + (size_t)H * D, *new_value = from + (size_t)2 * H * D;

    for (int d = t; d < D; d += threads_per_block) {
        query[d] = to_float(from[d]);
        keys[(size_t)last * D + d] = new_key[d];
        values[(size_t)last * D + d] = new_value[d];
    }
    __syncthreads();
    //:end

    //:todo 3b The scores of the keys 0 .. last, and their maximum.
    //: Goal      scores[j] = scale * (query . key j); every thread of the block has the largest.
    //: Contract  the new token attends to itself. Threads without a key
    //:           change nothing. results may be used again after it.
    //: Question  with a thread per key, which addresses do the 32 lanes read at one moment?
    //:solution
    float largest = -INFINITY;
    for (int j = t; j <= last; j += threads_per_block) {
        const T *key = keys + (size_t)j * D;
        float dots[4] = {}; // four sums, so that an addition can begin before the previous one has ended
        int d = 0;
        for (; d + 4 <= D; d += 4) {
            for (int i = 0; i < 4; i++) { dots[i] += query[d + i] * to_float(key[d + i]); }
        }
        for (; d < D; d++) { dots[0] += query[d] * to_float(key[d]); }
        float dot = (dots[0] + dots[1]) + (dots[2] + dots[3]);
        scores[j] = scale * dot;
        largest = fmaxf(largest, scale * dot);
    }
    largest = warp_max(largest);
    if (t % warp_size == 0) { results[t / warp_size] = largest; }
    __syncthreads();
    for (int w = 0; w < warps; w++) { largest = fmaxf(largest, results[w]); }
    __syncthreads(); // all have read results, which is used again
    //:end

    //:todo 3c The weights, not yet divided by their sum, and the sum.
    //: Goal      scores[j] becomes exp(scores[j] - largest); every thread has the sum of them all.
    //: Question  before which barrier is a score of another thread not yet a weight?
    //:solution
    float sum = 0.0f;
    for (int j = t; j <= last; j += threads_per_block) {
        scores[j] = expf(scores[j] - largest);
        sum += scores[j];
    }
    sum = warp_sum(sum);
    if (t % warp_size == 0) { results[t / warp_size] = sum; }
    __syncthreads(); // and every score has become a weight
    sum = 0.0f;
    for (int w = 0; w < warps; w++) { sum += results[w]; }
    //:end

    //:todo 3d The weighted sum of the values.
    //: Goal      out[(b * H + h) * D + d] = the sum over the keys of weight * v[d], divided by the sum of the weights.
    //: Shapes    a head is usually narrower than the block: groups =
    //:           threads_per_block / D threads can share a channel's keys.
    //: Contract  right for D below, equal to and above threads_per_block,
    //:           and no multiple of it. No thread misses a barrier.
    //: Question  where do the groups' parts meet, and when may that memory be used again?
    //:solution
    // Heads are narrower than a block (D = 64): group g of the threads takes the keys g, g + groups, ...
    int groups = D < threads_per_block ? threads_per_block / D : 1;
    for (int first = 0; first < D; first += threads_per_block) {
        int d = first + (groups > 1 ? t % D : t), group = groups > 1 ? t / D : 0;
        float total = 0.0f;
        if (d < D && group < groups) {
            for (int j = group; j <= last; j += groups) { total += scores[j] * to_float(values[(size_t)j * D + d]); }
        }
        partial[t] = total;
        __syncthreads();
        if (d < D && group == 0) {
            for (int g = 1; g < groups; g++) { total += partial[g * D + t]; }
            out[((size_t)b * H + h) * D + d] = from_float<T>(total / sum);
        }
        __syncthreads(); // partial is used again
    }
    //:end
}

template <class T>
int decode_attention(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D,
                     int S) {
    //:swap
    //:stub
    //: return cudaErrorNotSupported; // "not started": take this line out when 3a to 3d are written
    //:end
    size_t shared = ((size_t)D + (size_t)S + threads_per_block + warps) * sizeof(float);
    dim3 blocks((unsigned)H, (unsigned)B);
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(decode_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    }
    decode_kernel<<<blocks, threads_per_block, shared, device.stream>>>(out, k, v, qkv, positions, H, D, S,
                                                                        1.0f / sqrtf((float)D));
    TRY(cudaGetLastError());
    return 0;
}

#define INSTANTIATE(T) \
    template int decode_attention(gpt2_device &, T *, T *, T *, const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

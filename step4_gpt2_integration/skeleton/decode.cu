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
    // TODO 3a (14 lines): The new token: its query into shared memory, its key and value into the cache.
    //   Goal      block (h, b) = (blockIdx.x, blockIdx.y) has its
    //             query as floats, and position last = positions[b] of
    //             its part of the cache holds the new key and value.
    //   Shapes    qkv (B, 3, H, D); this head's part of k and v is (S, D). extern
    //             __shared__ float shared[]: query (D), scores (S), partial
    //             (threads_per_block), results (warps), as the launch below reserves them.
    //   Contract  right for D above the block's size; nothing else of the cache
    //             changes; what other threads read is ordered by a barrier.

    // TODO 3b (18 lines): The scores of the keys 0 .. last, and their maximum.
    //   Goal      scores[j] = scale * (query . key j); every thread of the block has the largest.
    //   Contract  the new token attends to itself. Threads without a key
    //             change nothing. results may be used again after it.
    //   Question  with a thread per key, which addresses do the 32 lanes read at one moment?

    // TODO 3c (10 lines): The weights, not yet divided by their sum, and the sum.
    //   Goal      scores[j] becomes exp(scores[j] - largest); every thread has the sum of them all.
    //   Question  before which barrier is a score of another thread not yet a weight?

    // TODO 3d (16 lines): The weighted sum of the values.
    //   Goal      out[(b * H + h) * D + d] = the sum over the keys of weight * v[d], divided by the sum of the weights.
    //   Shapes    a head is usually narrower than the block: groups =
    //             threads_per_block / D threads can share a channel's keys.
    //   Contract  right for D below, equal to and above threads_per_block,
    //             and no multiple of it. No thread misses a barrier.
    //   Question  where do the groups' parts meet, and when may that memory be used again?
}

template <class T>
int decode_attention(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D,
                     int S) {
    return cudaErrorNotSupported; // "not started": take this line out when 3a to 3d are written
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

// warpgroup_tiles.cuh — the tiles of attention on Hopper: 64 rows of a head of 64 channels, or 128 of 128, 16-bit elements
//
//   describe_heads    a tensor (B, T, heads, D) for the copy engine, in boxes of 64 channels; describe_heads_at: with other
//                     strides
//   copy_tile_in, copy_tile_out   a tile, box by box
//   place_of          the head of a block, in an order that keeps a section of heads in L2
#ifndef GPT2_WARPGROUP_TILES_CUH
#define GPT2_WARPGROUP_TILES_CUH

#include "gpt2/model/tensor_map.cuh"
#include "gpt2/model/warpgroup.cuh"

#include <cmath>

constexpr int channels = 64; // of a column, and of the heads that most kernels here are for
constexpr int tile = 64, tile_bytes = tile * channels * 2;

// Tiles begin at multiples of 1024 bytes, for the swizzle. Shared memory begins at any multiple of 16.
constexpr int tile_alignment = 1024;

constexpr int64_t section_bytes = 16 << 20; // of the tiles that the blocks of a section read: they stay in L2

struct shape {
    int B, T, H;
    int section; // heads whose blocks follow one another
    float scale;
};

inline shape shape_of(int B, int T_, int H, int D = channels) {
    const int64_t head_bytes = (int64_t)T_ * D * 2 * 2, heads = section_bytes / head_bytes;
    return {B, T_, H, (int)(heads < 1 ? 1 : heads), 1.0f / sqrtf((float)D)};
}

struct place {
    int sequence, head, step; // of the head: 0 is its longest block
};

// A head has that many steps, each a block's. In a section, the blocks of step 0 of all heads come first.
__device__ inline place place_of(int block, int steps, const shape &of) {
    const int section = block / (of.section * steps);
    const int heads = min(of.section, of.B * of.H - section * of.section), i = block % (of.section * steps);
    const int head = section * of.section + i % heads;
    return {head / of.H, head % of.H, i / heads};
}

#if WARPGROUP_PTX

// A tile of D channels. Rows: of a column of the tile in shared memory. The box that the map describes may have fewer.
template <int D = channels, int Rows = tile>
__device__ inline void copy_tile_in(char *to, const CUtensorMap *from, int head, int row, int sequence,
                                    uint64_t *barrier) {
#pragma unroll
    for (int i = 0; i < D / channels; i++) {
        warpgroup::copy_box_in(to + i * Rows * channels * 2, from, i * channels, head, row, sequence, barrier);
    }
}

template <int D = channels, int Rows = tile>
__device__ inline void copy_tile_out(const CUtensorMap *to, const char *from, int head, int row, int sequence) {
#pragma unroll
    for (int i = 0; i < D / channels; i++) {
        warpgroup::copy_box_out(to, from + i * Rows * channels * 2, i * channels, head, row, sequence);
    }
}

#endif

// A tensor of heads of D channels as the copy engine sees it: in boxes of 64 channels of `rows` rows of one head. head, row,
// sequence: the elements from one to the next.
template <class T>
int describe_heads_at(CUtensorMap *map, const T *tensor, int B, int T_, int heads, int64_t head, int64_t row,
                      int64_t sequence, int D = channels, int rows = tile) {
    return describe_tensor<T>(map, tensor, {(cuuint64_t)D, (cuuint64_t)heads, (cuuint64_t)T_, (cuuint64_t)B},
                              {head * sizeof(T), row * sizeof(T), sequence * sizeof(T)},
                              {channels, 1, (cuuint32_t)rows, 1}, CU_TENSOR_MAP_SWIZZLE_128B);
}

// (B, T, heads, D)
template <class T>
int describe_heads(CUtensorMap *map, const T *tensor, int B, int T_, int heads, int D = channels, int rows = tile) {
    const int64_t row = (int64_t)heads * D;
    return describe_heads_at(map, tensor, B, T_, heads, D, row, row * T_, D, rows);
}

#endif

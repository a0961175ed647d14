// warpgroup_tiles.cuh — the tiles of attention on Hopper: 64 rows of a head of 64 channels, 16-bit elements
//
//   describe_heads    a tensor (B, T, heads, 64) for the copy engine, in boxes of one tile; describe_heads_at: with other strides
//   place_of          the head of a block, in an order that keeps a section of heads in L2
#ifndef GPT2_WARPGROUP_TILES_CUH
#define GPT2_WARPGROUP_TILES_CUH

#include "gpt2/model/warpgroup.cuh"

#include <cudaTypedefs.h>

constexpr int channels = 64, tile = 64, tile_bytes = tile * channels * 2;

// Tiles begin at multiples of 1024 bytes, for the swizzle. Shared memory begins at any multiple of 16.
constexpr int tile_alignment = 1024;

constexpr int64_t section_bytes = 16 << 20; // of the tiles that the blocks of a section read: they stay in L2

struct shape {
    int B, T, H;
    int section; // heads whose blocks follow one another
    float scale;
};

inline shape shape_of(int B, int T_, int H) {
    const int64_t head_bytes = (int64_t)T_ * channels * 2 * 2, heads = section_bytes / head_bytes;
    return {B, T_, H, (int)(heads < 1 ? 1 : heads), 0.125f}; // 1 / sqrt(64)
}

struct place {
    int sequence, head, step; // of the head: 0 is its longest block
};

// A block has a tile of rows. In a section, the blocks of step 0 of all heads come first.
__device__ inline place place_of(int block, const shape &of) {
    const int steps = (of.T + tile - 1) / tile, section = block / (of.section * steps);
    const int heads = min(of.section, of.B * of.H - section * of.section), i = block % (of.section * steps);
    const int head = section * of.section + i % heads;
    return {head / of.H, head % of.H, i / heads};
}

// A tensor as the copy engine sees it: in boxes of 64 rows of one head. head, row, sequence: the elements from one to the next.
template <class T>
int describe_heads_at(CUtensorMap *map, const T *tensor, int B, int T_, int heads, int64_t head, int64_t row,
                      int64_t sequence) {
    static PFN_cuTensorMapEncodeTiled_v12000 encode = nullptr; // of the driver, to which programs are not linked
    if (encode == nullptr) {
        void *found = nullptr;
        cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
        TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
#else
        TRY(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
        if (result != cudaDriverEntryPointSuccess) { return cudaErrorNotSupported; }
        encode = (PFN_cuTensorMapEncodeTiled_v12000)found;
    }
    const cuuint64_t sizes[4] = {channels, (cuuint64_t)heads, (cuuint64_t)T_, (cuuint64_t)B};
    const cuuint64_t strides[3] = {head * sizeof(T), row * sizeof(T), sequence * sizeof(T)};
    const cuuint32_t box[4] = {channels, 1, tile, 1}, steps[4] = {1, 1, 1, 1};
    const CUtensorMapDataType type =
        type_of<T>::file == GPT2_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    CUresult code =
        encode(map, type, 4, (void *)tensor, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return code == CUDA_SUCCESS ? 0 : (int)cudaErrorInvalidValue;
}

// (B, T, heads, 64)
template <class T> int describe_heads(CUtensorMap *map, const T *tensor, int B, int T_, int heads) {
    const int64_t row = (int64_t)heads * channels;
    return describe_heads_at(map, tensor, B, T_, heads, channels, row, row * T_);
}

#endif

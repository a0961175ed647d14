/* group_warp.h — groups within a warp: thread_block_tile<N>, coalesced_group, and the partitions that make them. */
#ifndef SIMT_GROUP_WARP_H
#define SIMT_GROUP_WARP_H

#include "bits.h"
#include "groups.h"

namespace simt {

/* A value of any trivially copyable type is passed in words of 8, 4, 2 or 1 bytes. */
template <class T> SIMT_INLINE T shuffle_any(int mode, unsigned mask, T value, unsigned source, int width) {
    if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
        typename bits_of<sizeof(T)>::type bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        bits = static_cast<decltype(bits)>(simt_collective(SIMT_COLLECT_SHUFFLE, mode, mask, bits, source, width));
        __builtin_memcpy(&value, &bits, sizeof bits);
    } else {
        static_assert(sizeof(T) % 4 == 0 && sizeof(T) <= 64, "shuffles take 1, 2, or a multiple of 4 bytes, up to 64");
        uint32_t words[sizeof(T) / 4];
        __builtin_memcpy(words, &value, sizeof value);
        for (uint32_t &word : words) {
            word = static_cast<uint32_t>(simt_collective(SIMT_COLLECT_SHUFFLE, mode, mask, word, source, width));
        }
        __builtin_memcpy(&value, words, sizeof value);
    }
    return value;
}

/* The group's bits of a word of lanes, by rank. */
SIMT_INLINE unsigned pack_lanes(unsigned mask, unsigned lanes) {
    unsigned packed = 0, rank = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1, rank++) {
        packed |= (lanes >> __builtin_ctz(rest) & 1) << rank;
    }
    return packed;
}

SIMT_INLINE unsigned tile_mask(unsigned size, unsigned lane) {
    return size >= 32 ? 0xffffffffu : ((1u << size) - 1) << (lane & ~(size - 1));
}

} // namespace simt

namespace cooperative_groups {

/* The common base of tiles and coalesced groups: a mask of lanes. */
class lane_group : public thread_group {
  protected:
    SIMT_MEMBER lane_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
        : thread_group(simt::GROUP_LANES, mask, meta_rank, meta_size) {}

  public:
    SIMT_MEMBER void sync() const { __syncwarp(mask_); }
    SIMT_MEMBER unsigned meta_group_rank() const { return meta_rank_; }
    SIMT_MEMBER unsigned meta_group_size() const { return meta_size_; }
    SIMT_MEMBER int any(int predicate) const { return __any_sync(mask_, predicate); }
    SIMT_MEMBER int all(int predicate) const { return __all_sync(mask_, predicate); }
    SIMT_MEMBER unsigned ballot(int predicate) const {
        return simt::pack_lanes(mask_, __ballot_sync(mask_, predicate));
    }
    template <class T> SIMT_MEMBER unsigned match_any(T value) const {
        return simt::pack_lanes(mask_, __match_any_sync(mask_, value));
    }
    template <class T> SIMT_MEMBER unsigned match_all(T value, int &predicate) const {
        return simt::pack_lanes(mask_, __match_all_sync(mask_, value, &predicate));
    }
};

/* Converged lanes, ranked in the order of lanes. */
class coalesced_group : public lane_group {
    SIMT_MEMBER unsigned lane_of(unsigned rank) const { return __fns(mask_, 0, static_cast<int>(rank) + 1); }

  public:
    SIMT_MEMBER explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lane_group(mask, meta_rank, meta_size) {}
    SIMT_MEMBER unsigned size() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
    SIMT_MEMBER unsigned num_threads() const { return size(); }
    SIMT_MEMBER unsigned thread_rank() const {
        return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << simt::lane_index()) - 1)));
    }
    template <class T> SIMT_MEMBER T shfl(T value, unsigned rank) const {
        unsigned lane = rank < size() ? lane_of(rank) : simt::lane_index();
        return simt::shuffle_any(SIMT_SHUFFLE_INDEX, mask_, value, lane, 32);
    }
    template <class T> SIMT_MEMBER T shfl_up(T value, unsigned delta) const {
        unsigned rank = thread_rank();
        return shfl(value, rank >= delta ? rank - delta : rank);
    }
    template <class T> SIMT_MEMBER T shfl_down(T value, unsigned delta) const {
        unsigned rank = thread_rank();
        return shfl(value, rank + delta < size() ? rank + delta : rank);
    }
};

/* Size consecutive lanes, starting at a multiple of Size; Size is a power of two. */
template <unsigned Size, class Parent = void> class thread_block_tile : public lane_group {
    static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
    static_assert(Size <= 32, "the CPU backend has no tiles of more than 32 threads");

  public:
    SIMT_MEMBER thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : lane_group(simt::tile_mask(Size, simt::lane_index()), meta_rank, meta_size) {}
    /* A tile of a block is also a tile whose parent is not named. */
    template <class Other>
    SIMT_MEMBER thread_block_tile(const thread_block_tile<Size, Other> &other)
        : lane_group(simt::tile_mask(Size, simt::lane_index()), other.meta_group_rank(), other.meta_group_size()) {}
    static SIMT_MEMBER constexpr unsigned size() { return Size; }
    static SIMT_MEMBER constexpr unsigned num_threads() { return Size; }
    static SIMT_MEMBER unsigned thread_rank() { return simt::lane_index() & (Size - 1); }
    template <class T> SIMT_MEMBER T shfl(T value, int rank) const {
        return simt::shuffle_any(SIMT_SHUFFLE_INDEX, mask_, value, static_cast<unsigned>(rank), Size);
    }
    template <class T> SIMT_MEMBER T shfl_up(T value, unsigned delta) const {
        return simt::shuffle_any(SIMT_SHUFFLE_UP, mask_, value, delta, Size);
    }
    template <class T> SIMT_MEMBER T shfl_down(T value, unsigned delta) const {
        return simt::shuffle_any(SIMT_SHUFFLE_DOWN, mask_, value, delta, Size);
    }
    template <class T> SIMT_MEMBER T shfl_xor(T value, unsigned rank_mask) const {
        return simt::shuffle_any(SIMT_SHUFFLE_XOR, mask_, value, rank_mask, Size);
    }
};

/* Scratch for tiles of several warps. */
template <unsigned Threads = 1024> struct block_tile_memory {
    static_assert(Threads == 0, "the CPU backend has no tiles of more than 32 threads (block_tile_memory)");
};
template <unsigned Threads> thread_block this_thread_block(block_tile_memory<Threads> &);

SIMT_MEMBER coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

template <unsigned Size> SIMT_MEMBER thread_block_tile<Size, thread_block> tiled_partition(const thread_block &) {
    return thread_block_tile<Size, thread_block>(simt::block_rank() / Size, (simt::block_threads() + Size - 1) / Size);
}
template <unsigned Size, unsigned ParentSize, class GrandParent>
SIMT_MEMBER thread_block_tile<Size, thread_block_tile<ParentSize, GrandParent>>
tiled_partition(const thread_block_tile<ParentSize, GrandParent> &parent) {
    static_assert(Size <= ParentSize, "a tile is no larger than its parent");
    return thread_block_tile<Size, thread_block_tile<ParentSize, GrandParent>>(parent.thread_rank() / Size,
                                                                               ParentSize / Size);
}

/* With a run-time size: of a block's warps, or of a coalesced group by rank. */
SIMT_MEMBER thread_group tiled_partition(const thread_group &parent, unsigned size) {
    if (group_access::kind(parent) == simt::GROUP_BLOCK) {
        return coalesced_group(simt::tile_mask(size, simt::lane_index()), simt::block_rank() / size,
                               (simt::block_threads() + size - 1) / size);
    }
    unsigned members = group_access::mask(parent), mask = 0, rank = 0;
    unsigned part = static_cast<unsigned>(parent.thread_rank()) / size;
    for (unsigned rest = members; rest != 0; rest &= rest - 1, rank++) {
        mask |= rank / size == part ? rest & (0u - rest) : 0;
    }
    return coalesced_group(mask, part, (static_cast<unsigned>(parent.size()) + size - 1) / size);
}

/* One group per label, or per truth value. */
template <class Group, class Label> SIMT_MEMBER coalesced_group labeled_partition(const Group &group, Label label) {
    return coalesced_group(__match_any_sync(group_access::mask(group), label));
}
template <class Group> SIMT_MEMBER coalesced_group binary_partition(const Group &group, bool truth) {
    unsigned members = group_access::mask(group), yes = __ballot_sync(members, truth);
    return coalesced_group(truth ? yes : members & ~yes, truth, 2);
}

} // namespace cooperative_groups

#endif

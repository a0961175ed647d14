/* groups.h — thread_group and the groups larger than a warp: thread_block, cluster_group (of one block), grid_group.
 *
 * A group is a small value: its kind and, within a warp, the mask of its lanes. The derived classes add no members, so
 * that any group can be passed as a thread_group.
 */
#ifndef SIMT_GROUPS_H
#define SIMT_GROUPS_H

#include "builtin.h"
#include "sync.h"
#include "warp.h"

extern "C" bool simt_grid_is_cooperative(void) noexcept; /* api/device_side.c */

namespace simt {

/* This thread's number in its block, and its lane: lanes are counted through the block. */
SIMT_INLINE unsigned block_rank() {
    return threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
}
SIMT_INLINE unsigned block_threads() {
    return blockDim.x * blockDim.y * blockDim.z;
}
SIMT_INLINE unsigned lane_index() {
    return block_rank() & 31;
}
SIMT_INLINE unsigned long long grid_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
}
SIMT_INLINE unsigned long long grid_block_rank() {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                            (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
}

enum group_kind { GROUP_LANES, GROUP_BLOCK, GROUP_GRID };

} // namespace simt

namespace cooperative_groups {

class thread_group {
  protected:
    simt::group_kind kind_;
    unsigned mask_;                  /* GROUP_LANES: the group's lanes of the warp */
    unsigned meta_rank_, meta_size_; /* which part of its parent, of how many */

    SIMT_MEMBER thread_group(simt::group_kind kind, unsigned mask, unsigned meta_rank, unsigned meta_size)
        : kind_(kind), mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}

  public:
    SIMT_MEMBER unsigned long long size() const {
        switch (kind_) {
            case simt::GROUP_LANES: return static_cast<unsigned>(__builtin_popcount(mask_));
            case simt::GROUP_BLOCK: return simt::block_threads();
            default: return simt::grid_blocks() * simt::block_threads();
        }
    }
    SIMT_MEMBER unsigned long long num_threads() const { return size(); }
    SIMT_MEMBER unsigned long long thread_rank() const {
        switch (kind_) {
            case simt::GROUP_LANES:
                return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << simt::lane_index()) - 1)));
            case simt::GROUP_BLOCK: return simt::block_rank();
            default: return simt::grid_block_rank() * simt::block_threads() + simt::block_rank();
        }
    }
    SIMT_MEMBER void sync() const {
        switch (kind_) {
            case simt::GROUP_LANES: __syncwarp(mask_); break;
            case simt::GROUP_BLOCK: __syncthreads(); break;
            default: simt_grid_barrier(); break;
        }
    }
    friend struct group_access;
};

/* For the functions below that make groups of groups. */
struct group_access {
    static SIMT_MEMBER simt::group_kind kind(const thread_group &group) { return group.kind_; }
    static SIMT_MEMBER unsigned mask(const thread_group &group) { return group.mask_; }
};

class thread_block : public thread_group {
    SIMT_MEMBER thread_block() : thread_group(simt::GROUP_BLOCK, 0, 0, 1) {}
    friend thread_block this_thread_block();

  public:
    struct arrival_token {};
    static SIMT_MEMBER void sync() { __syncthreads(); }
    static SIMT_MEMBER arrival_token barrier_arrive() { return arrival_token(); }
    static SIMT_MEMBER void barrier_wait(arrival_token &&) { __syncthreads(); }
    static SIMT_MEMBER unsigned thread_rank() { return simt::block_rank(); }
    static SIMT_MEMBER unsigned size() { return simt::block_threads(); }
    static SIMT_MEMBER unsigned num_threads() { return simt::block_threads(); }
    static SIMT_MEMBER dim3 group_index() { return blockIdx; }
    static SIMT_MEMBER dim3 thread_index() { return threadIdx; }
    static SIMT_MEMBER dim3 group_dim() { return blockDim; }
    static SIMT_MEMBER dim3 dim_threads() { return blockDim; }
};

class grid_group : public thread_group {
    SIMT_MEMBER grid_group() : thread_group(simt::GROUP_GRID, 0, 0, 1) {}
    friend grid_group this_grid();

  public:
    struct arrival_token {};
    SIMT_MEMBER bool is_valid() const { return simt_grid_is_cooperative(); }
    SIMT_MEMBER void sync() const { simt_grid_barrier(); }
    SIMT_MEMBER arrival_token barrier_arrive() const { return arrival_token(); }
    SIMT_MEMBER void barrier_wait(arrival_token &&) const { simt_grid_barrier(); }
    static SIMT_MEMBER unsigned long long size() { return simt::grid_blocks() * simt::block_threads(); }
    static SIMT_MEMBER unsigned long long num_threads() { return size(); }
    static SIMT_MEMBER unsigned long long thread_rank() {
        return simt::grid_block_rank() * simt::block_threads() + simt::block_rank();
    }
    static SIMT_MEMBER dim3 group_dim() { return gridDim; }
    static SIMT_MEMBER dim3 dim_blocks() { return gridDim; }
    static SIMT_MEMBER unsigned long long num_blocks() { return simt::grid_blocks(); }
    static SIMT_MEMBER dim3 block_index() { return blockIdx; }
    static SIMT_MEMBER unsigned long long block_rank() { return simt::grid_block_rank(); }
};

/* Without a cluster launch every block is its own cluster. */
class cluster_group : public thread_group {
    SIMT_MEMBER cluster_group() : thread_group(simt::GROUP_BLOCK, 0, 0, 1) {}
    friend cluster_group this_cluster();

  public:
    struct arrival_token {};
    static SIMT_MEMBER void sync() { __syncthreads(); }
    static SIMT_MEMBER arrival_token barrier_arrive() { return arrival_token(); }
    static SIMT_MEMBER void barrier_wait(arrival_token &&) { __syncthreads(); }
    static SIMT_MEMBER void barrier_wait() { __syncthreads(); }
    static SIMT_MEMBER unsigned thread_rank() { return simt::block_rank(); }
    static SIMT_MEMBER unsigned num_threads() { return simt::block_threads(); }
    static SIMT_MEMBER unsigned size() { return simt::block_threads(); }
    static SIMT_MEMBER unsigned block_rank() { return 0; }
    static SIMT_MEMBER unsigned num_blocks() { return 1; }
    static SIMT_MEMBER dim3 block_index() { return dim3(0, 0, 0); }
    static SIMT_MEMBER dim3 dim_blocks() { return dim3(1, 1, 1); }
    template <class T> static SIMT_MEMBER T *map_shared_rank(T *address, int) { return address; }
    static SIMT_MEMBER unsigned query_shared_rank(const void *) { return 0; }
};

SIMT_MEMBER thread_block this_thread_block() {
    return thread_block();
}
SIMT_MEMBER grid_group this_grid() {
    return grid_group();
}
SIMT_MEMBER cluster_group this_cluster() {
    return cluster_group();
}

template <class Group> SIMT_MEMBER void sync(const Group &group) {
    group.sync();
}
template <class Group> SIMT_MEMBER unsigned long long group_size(const Group &group) {
    return group.size();
}
template <class Group> SIMT_MEMBER unsigned long long thread_rank(const Group &group) {
    return group.thread_rank();
}

} // namespace cooperative_groups

#endif

/* group_copy.h — memcpy_async: asynchronous copies from global to shared memory by the threads of a group.
 *
 * A part of 4, 8 or 16 bytes that is aligned is a cp.async: it completes when its thread waits. Other parts are copied at
 * once, byte by byte, as on a GPU.
 */
#ifndef SIMT_GROUP_COPY_H
#define SIMT_GROUP_COPY_H

#include "async_copy.h"
#include "groups.h"

namespace simt {

template <size_t Bytes>
SIMT_INLINE void copy_words_async(void *to, const void *from, size_t bytes, size_t rank, size_t size,
                                  const void *barrier) {
    for (size_t i = rank * Bytes; i < bytes; i += size * Bytes) {
        char *target = static_cast<char *>(to) + i;
        const char *source = static_cast<const char *>(from) + i;
        if (barrier != nullptr) {
            simt_async_copy_to_barrier(target, source, Bytes, barrier);
        } else {
            simt_async_copy(target, source, Bytes, Bytes);
        }
    }
}

/* The widest words that both addresses and the size allow. barrier: a cuda::barrier that completes the copies, or NULL. */
SIMT_INLINE void copy_async_by(void *to, const void *from, size_t bytes, size_t rank, size_t size,
                               const void *barrier = nullptr) {
    size_t all = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | bytes;
    if (all % 16 == 0) {
        copy_words_async<16>(to, from, bytes, rank, size, barrier);
    } else if (all % 8 == 0) {
        copy_words_async<8>(to, from, bytes, rank, size, barrier);
    } else if (all % 4 == 0) {
        copy_words_async<4>(to, from, bytes, rank, size, barrier);
    } else {
        for (size_t i = rank; i < bytes; i += size) {
            static_cast<unsigned char *>(to)[i] = static_cast<const unsigned char *>(from)[i];
        }
    }
}

} // namespace simt

namespace cuda {
/* A size that is a multiple of Alignment; the addresses are, too. */
template <size_t Alignment> struct aligned_size_t {
    size_t value;
    constexpr aligned_size_t(size_t size) : value(size) {}
    constexpr operator size_t() const { return value; }
};
} // namespace cuda

namespace cooperative_groups {

template <class Group, class T, class Bytes>
SIMT_MEMBER void memcpy_async(const Group &group, T *to, const T *from, const Bytes &bytes) {
    simt::copy_async_by(to, from, bytes, group.thread_rank(), group.size());
    simt_async_commit();
}
/* Counts of elements, of which the smaller one is copied. */
template <class Group, class T>
SIMT_MEMBER void memcpy_async(const Group &group, T *to, size_t to_count, const T *from, size_t from_count) {
    simt::copy_async_by(to, from, (to_count < from_count ? to_count : from_count) * sizeof(T), group.thread_rank(),
                        group.size());
    simt_async_commit();
}
template <class Group> SIMT_MEMBER void wait(const Group &group) {
    simt_async_wait_all();
    group.sync();
}
template <unsigned Stages, class Group> SIMT_MEMBER void wait_prior(const Group &group) {
    simt_async_wait(Stages);
    group.sync();
}

} // namespace cooperative_groups

#endif

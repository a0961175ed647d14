/* group_copy.h — asynchronous copies from global to shared memory. Here they complete when they are issued. So a program
 * that does not wait is right here and wrong on a GPU. The race detector finds a read by another thread without a
 * barrier, but not a premature read by the copying thread itself.
 */
#ifndef SIMT_GROUP_COPY_H
#define SIMT_GROUP_COPY_H

#include "groups.h"

namespace simt {

template <class Word> SIMT_INLINE void copy_words(void *to, const void *from, size_t bytes, size_t rank, size_t size) {
    for (size_t i = rank; i < bytes / sizeof(Word); i += size) {
        static_cast<Word *>(to)[i] = static_cast<const Word *>(from)[i];
    }
}

/* The widest words that both addresses and the size allow. */
SIMT_INLINE void copy_by(void *to, const void *from, size_t bytes, size_t rank, size_t size) {
    size_t all = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | bytes;
    if (all % 16 == 0) {
        copy_words<word16>(to, from, bytes, rank, size);
    } else if (all % 8 == 0) {
        copy_words<word8>(to, from, bytes, rank, size);
    } else if (all % 4 == 0) {
        copy_words<word4>(to, from, bytes, rank, size);
    } else {
        copy_words<unsigned char>(to, from, bytes, rank, size);
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
    simt::copy_by(to, from, bytes, group.thread_rank(), group.size());
}
/* Counts of elements, of which the smaller one is copied. */
template <class Group, class T>
SIMT_MEMBER void memcpy_async(const Group &group, T *to, size_t to_count, const T *from, size_t from_count) {
    simt::copy_by(to, from, (to_count < from_count ? to_count : from_count) * sizeof(T), group.thread_rank(),
                  group.size());
}
template <class Group> SIMT_MEMBER void wait(const Group &group) {
    group.sync();
}
template <unsigned Stages, class Group> SIMT_MEMBER void wait_prior(const Group &group) {
    group.sync();
}

} // namespace cooperative_groups

#endif

/* warp.h — shuffles, votes, matches and reductions of a warp, for CUDA's own list of types. */
#ifndef SIMT_WARP_H
#define SIMT_WARP_H

#include "boundary.h"

namespace simt {

template <size_t Bytes> struct bits_of;
template <> struct bits_of<1> { typedef uint8_t type; };
template <> struct bits_of<2> { typedef uint16_t type; };
template <> struct bits_of<4> { typedef uint32_t type; };
template <> struct bits_of<8> { typedef uint64_t type; };

/* A value in the low bytes of a word and back. half.h and bfloat.h add their pairs. */
template <class T> struct carrier {
    SIMT_INLINE uint64_t pack(T value) { return __builtin_bit_cast(typename bits_of<sizeof(T)>::type, value); }
    SIMT_INLINE T unpack(uint64_t bits) {
        return __builtin_bit_cast(T, static_cast<typename bits_of<sizeof(T)>::type>(bits));
    }
};
template <class T> SIMT_INLINE uint64_t to_bits(T value) {
    return carrier<T>::pack(value);
}
template <class T> SIMT_INLINE T from_bits(uint64_t bits) {
    return carrier<T>::unpack(bits);
}

template <class T> SIMT_INLINE T shuffle(int mode, unsigned mask, T value, unsigned source, int width) {
    return from_bits<T>(simt_collective(SIMT_COLLECT_SHUFFLE, mode, mask, to_bits(value), source, width));
}

} // namespace simt

#define SIMT_SHUFFLES(T)                                                                              \
    SIMT_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {                     \
        return simt::shuffle(SIMT_SHUFFLE_INDEX, mask, value, static_cast<unsigned>(lane), width);    \
    }                                                                                                 \
    SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {            \
        return simt::shuffle(SIMT_SHUFFLE_UP, mask, value, delta, width);                             \
    }                                                                                                 \
    SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {          \
        return simt::shuffle(SIMT_SHUFFLE_DOWN, mask, value, delta, width);                           \
    }                                                                                                 \
    SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {            \
        return simt::shuffle(SIMT_SHUFFLE_XOR, mask, value, static_cast<unsigned>(lane_mask), width); \
    }

SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned int)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)

SIMT_INLINE int __all_sync(unsigned mask, int predicate) {
    return static_cast<int>(simt_collective(SIMT_COLLECT_VOTE, SIMT_VOTE_ALL, mask, predicate != 0, 0, 32));
}

SIMT_INLINE int __any_sync(unsigned mask, int predicate) {
    return static_cast<int>(simt_collective(SIMT_COLLECT_VOTE, SIMT_VOTE_ANY, mask, predicate != 0, 0, 32));
}

SIMT_INLINE int __uni_sync(unsigned mask, int predicate) {
    return static_cast<int>(simt_collective(SIMT_COLLECT_VOTE, SIMT_VOTE_UNI, mask, predicate != 0, 0, 32));
}

SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
    return static_cast<unsigned>(simt_collective(SIMT_COLLECT_VOTE, SIMT_VOTE_BALLOT, mask, predicate != 0, 0, 32));
}

SIMT_INLINE unsigned __activemask() {
    return simt_activemask();
}

/* match_all: the result is the mask when all values are equal, else 0. */
#define SIMT_MATCHES(T)                                                                              \
    SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value) {                                  \
        return static_cast<unsigned>(                                                                \
            simt_collective(SIMT_COLLECT_MATCH, SIMT_MATCH_ANY, mask, simt::to_bits(value), 0, 32)); \
    }                                                                                                \
    SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int *predicate) {                  \
        unsigned same = static_cast<unsigned>(                                                       \
            simt_collective(SIMT_COLLECT_MATCH, SIMT_MATCH_ALL, mask, simt::to_bits(value), 0, 32)); \
        *predicate = same != 0;                                                                      \
        return same;                                                                                 \
    }

SIMT_MATCHES(int)
SIMT_MATCHES(unsigned int)
SIMT_MATCHES(long)
SIMT_MATCHES(unsigned long)
SIMT_MATCHES(long long)
SIMT_MATCHES(unsigned long long)
SIMT_MATCHES(float)
SIMT_MATCHES(double)

#define SIMT_REDUCE(name, T, mode)                                                                                \
    SIMT_INLINE T __reduce_##name##_sync(unsigned mask, T value) {                                                \
        return simt::from_bits<T>(simt_collective(SIMT_COLLECT_REDUCE, mode, mask, simt::to_bits(value), 0, 32)); \
    }

SIMT_REDUCE(add, int, SIMT_REDUCE_ADD)
SIMT_REDUCE(add, unsigned, SIMT_REDUCE_ADD)
SIMT_REDUCE(min, int, SIMT_REDUCE_MIN_S)
SIMT_REDUCE(min, unsigned, SIMT_REDUCE_MIN_U)
SIMT_REDUCE(max, int, SIMT_REDUCE_MAX_S)
SIMT_REDUCE(max, unsigned, SIMT_REDUCE_MAX_U)
SIMT_REDUCE(and, unsigned, SIMT_REDUCE_AND)
SIMT_REDUCE(or, unsigned, SIMT_REDUCE_OR)
SIMT_REDUCE(xor, unsigned, SIMT_REDUCE_XOR)
#undef SIMT_REDUCE
#undef SIMT_MATCHES

/* Removed from CUDA since compute capability 7.0, where the lanes of a warp may diverge. */
#define SIMT_GONE(name, instead)                                                                             \
    template <class... Arguments>                                                                            \
    __attribute__((error("removed from CUDA: use " instead " and name the lanes that take part"))) int name( \
        Arguments...);
SIMT_GONE(__shfl, "__shfl_sync")
SIMT_GONE(__shfl_up, "__shfl_up_sync")
SIMT_GONE(__shfl_down, "__shfl_down_sync")
SIMT_GONE(__shfl_xor, "__shfl_xor_sync")
SIMT_GONE(__any, "__any_sync")
SIMT_GONE(__all, "__all_sync")
SIMT_GONE(__ballot, "__ballot_sync")
#undef SIMT_GONE

#endif

// piece.cuh — 16 bytes of a row as one load: 4 floats, or 8 elements of a 16-bit type; 4 elements as one store
#ifndef GPT2_PIECE_CUH
#define GPT2_PIECE_CUH

#include "gpt2/model/device.cuh"

#include <cstring>
#include <type_traits>

template <class T> struct piece {
    static constexpr int size = 16 / sizeof(T);
    uint4 bits; // one value, so that copying it is one access
};

template <class T> __device__ inline piece<T> load_piece(const T *from) { // a multiple of 16 bytes
    return {*(const uint4 *)from};
}

template <class T> __device__ inline void unpack(float (&values)[piece<T>::size], const piece<T> &from) {
    T elements[piece<T>::size];
    memcpy(elements, &from, sizeof elements);
#pragma unroll
    for (int e = 0; e < piece<T>::size; e++) { values[e] = to_float(elements[e]); }
}

// 16 bytes of floats, 8 of a 16-bit type; to: a multiple of as many.
template <class T> __device__ inline void store_four(T *to, const float (&values)[4]) {
    using four = std::conditional_t<sizeof(T) == sizeof(float), uint4, uint2>;
    T elements[4];
    for (int e = 0; e < 4; e++) { elements[e] = from_float<T>(values[e]); }
    four bits;
    memcpy(&bits, elements, sizeof bits);
    *(four *)to = bits;
}

#endif

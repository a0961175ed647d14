// piece.cuh — 16 bytes of a row as one load: 4 floats, or 8 elements of a 16-bit type
#ifndef GPT2_PIECE_CUH
#define GPT2_PIECE_CUH

#include "gpt2/model/device.cuh"

#include <cstring>

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

#endif

// vec16.cuh — 16 bytes as one load: 4 floats, or 8 elements of a 16-bit type; and a store of 4 elements
#ifndef GPT2_VEC16_CUH
#define GPT2_VEC16_CUH

#include "gpt2/model/device.cuh"

#include <cstring>
#include <type_traits>

template <class T> struct vec16 {
    static constexpr int size = 16 / sizeof(T);
    uint4 bits; // one value, so that copying it is one access
};

template <class T> __device__ inline vec16<T> vec16_load(const T *from) { // 16-byte aligned
    return {*(const uint4 *)from};
}

template <class T> __device__ inline void unpack(float (&values)[vec16<T>::size], const vec16<T> &from) {
    T elements[vec16<T>::size];
    memcpy(elements, &from, sizeof elements);
#pragma unroll
    for (int e = 0; e < vec16<T>::size; e++) { values[e] = to_float(elements[e]); }
}

// Stores 16 bytes of floats, or 8 of a 16-bit type. `to` is aligned to as many.
template <class T> __device__ inline void store_four(T *to, const float (&values)[4]) {
    using four = std::conditional_t<sizeof(T) == sizeof(float), uint4, uint2>;
    T elements[4];
    for (int e = 0; e < 4; e++) { elements[e] = from_float<T>(values[e]); }
    four bits;
    memcpy(&bits, elements, sizeof bits);
    *(four *)to = bits;
}

#endif

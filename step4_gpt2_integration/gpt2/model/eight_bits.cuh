// eight_bits.cuh — weights in 8 bits on the device (gpt2/formats/codes.h): codes, scales of the rows, and the way back
//
//   weight[o][c] = value(code[o][c]) scale[o]            codes (OC, C), scales (OC)
//
// Conversion instructions from int8 to float run at 16 to 64 a clock of a multiprocessor: too few for a kernel that reads a
// byte a weight. Here the value is made of bytes.
//   int8   The byte q + 128 becomes the low byte of the float 2^23 = 0x4b000000, whose unit is 1. The value is 2^23 + q + 128,
//          and a subtraction leaves q. One permutation and one subtraction a weight; one XOR for 4 makes q + 128 of q.
//   fp8    e4m3 has the sign, 4 bits of exponent and 3 of fraction. Moved into the places of a half they are the value times
//          2^-8, subnormal numbers too, since the bias is 15 in place of 7. The factor 2^8 is multiplied into the sum (`unit`).
//          For 2 weights one permutation, one shift, two logical operations.
#ifndef GPT2_EIGHT_BITS_CUH
#define GPT2_EIGHT_BITS_CUH

#include "gpt2/model/device.cuh"
#include "gpt2/model/vec16.cuh"

struct code_matrix {
    uint8_t *codes; // (OC, C)
    float *scales;  // (OC)
    float *input;   // (1)  the scale of activations in 8 bits; null: they are in T
};

// A code as an element of a vector of 16 bytes. value(code) = unit * what unpack gives.
struct int8_code {
    static constexpr float unit = 1.0f;
    uint8_t bits;
};
struct e4m3_code {
    static constexpr float unit = 256.0f;
    uint8_t bits;
};

__device__ inline void unpack_four(float *values, unsigned word, int8_code) {
    constexpr unsigned one = 0x4b000000; // 2^23
    const unsigned shifted = word ^ 0x80808080;
    values[0] = __uint_as_float(__byte_perm(shifted, one, 0x7540)) - 8388736.0f;
    values[1] = __uint_as_float(__byte_perm(shifted, one, 0x7541)) - 8388736.0f;
    values[2] = __uint_as_float(__byte_perm(shifted, one, 0x7542)) - 8388736.0f;
    values[3] = __uint_as_float(__byte_perm(shifted, one, 0x7543)) - 8388736.0f;
}

__device__ inline void unpack_four(float *values, unsigned word, e4m3_code) {
    const unsigned pairs[2] = {__byte_perm(word, 0, 0x1404), __byte_perm(word, 0, 0x3424)}; // each byte above a zero
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const unsigned bits = (pairs[i] & 0x80008000) | ((pairs[i] & 0x7f007f00) >> 1);
        __half2 halves;
        memcpy(&halves, &bits, sizeof halves);
        const float2 two = __half22float2(halves);
        values[2 * i] = two.x, values[2 * i + 1] = two.y;
    }
}

template <class W> __device__ inline void unpack_codes(float (&values)[16], const vec16<W> &from) {
    unpack_four(values, from.bits.x, W{});
    unpack_four(values + 4, from.bits.y, W{});
    unpack_four(values + 8, from.bits.z, W{});
    unpack_four(values + 12, from.bits.w, W{});
}
template <> __device__ inline void unpack<int8_code>(float (&values)[16], const vec16<int8_code> &from) {
    unpack_codes(values, from);
}
template <> __device__ inline void unpack<e4m3_code>(float (&values)[16], const vec16<e4m3_code> &from) {
    unpack_codes(values, from);
}

// The value of one code: for the rows of an embedding.
__device__ inline float code_value(uint8_t code, gpt2_scheme scheme) {
    float values[4];
    if (scheme == GPT2_INT8) {
        unpack_four(values, code, int8_code{});
    } else {
        unpack_four(values, code, e4m3_code{});
    }
    return values[0] * (scheme == GPT2_INT8 ? int8_code::unit : e4m3_code::unit);
}

// Rows of a matrix that are looked up: plain, or in 8 bits.
template <class T> struct lookup_table {
    const T *plain; // (rows, C), or null
    code_matrix coded;
    gpt2_scheme scheme;
    int C;

    __device__ float at(int64_t row, int c) const {
        return plain != nullptr ? to_float(plain[row * C + c])
                                : code_value(coded.codes[row * C + c], scheme) * coded.scales[row];
    }
};

// The code nearest to value, between the largest of each sign; ties to even.
__device__ inline uint8_t code_of(float value, int8_code) {
    return (uint8_t)(signed char)rintf(fminf(fmaxf(value, -127.0f), 127.0f));
}
__device__ inline uint8_t code_of(float value, e4m3_code) {
    const unsigned sign = __float_as_uint(value) >> 24 & 0x80;
    const float magnitude = fminf(fabsf(value), 448.0f);
    unsigned bits = __float_as_uint(magnitude);
    bits += 0x7ffff + (bits >> 20 & 1); // a carry goes into the exponent, whose bias is 127 there and 7 here
    return (uint8_t)(sign | (magnitude < 0x1p-6f ? (unsigned)rintf(magnitude * 0x1p9f) : (bits >> 20) - (120 << 3)));
}

// Activations in 8 bits: scratch memory of a product.
struct code_room {
    uint8_t *codes; // (padded_codes(N), C) of the input
    int *sums;      // (padded_codes(N), OC) of int8; else null
};

// Products of 8 bits compute a multiple of 16 rows. Memory has room for them; the added rows of an input are zeros.
inline int64_t padded_codes(int64_t N) {
    return (N + 15) / 16 * 16;
}

// out (N, OC) = x (N, C) weight^T + bias, then the activation if `activated`, where x is rounded to codes of weight.input's
// scale. C and OC are multiples of 16. out has padded_codes(N) rows, of which those from N on become undefined.
template <class T>
int matmul_codes(gpt2_device &device, T *out, const T *x, const code_matrix &weight, gpt2_scheme scheme, const T *bias,
                 bool activated, gpt2_activation activation, const code_room &room, int N, int C, int OC);

// out (rows, C) = the weights of rows first .. first + rows - 1, rounded to T: for products that read T.
template <class T>
int expand(gpt2_device &device, T *out, const code_matrix &matrix, gpt2_scheme scheme, int64_t first, int64_t rows,
           int64_t C);

#endif

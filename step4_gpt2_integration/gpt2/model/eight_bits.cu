// eight_bits.cu — a matrix in 8 bits as one of T, for products that read T (eight_bits.cuh)
//
// Purpose   Prompts and large batches are limited by arithmetic, not by the bytes of the weights: their products stay those of cuBLASLt, and
//           read a matrix that was expanded once for the pass.
// Bytes     C OC read, s C OC written, for elements of s bytes; the product then reads s C OC. 12 C C weights a block: 124M in bf16, 7 MB
//           read and 14 MB written, 5 us on an H200 at 4 TB/s.
// Kernel    expand_kernel<T, W>: a thread per 16 codes, one load and 16 elements of T; expand_odd_kernel: a thread per code, for rows
//           that are no multiple of 16.
#include "gpt2/model/eight_bits.cuh"

enum { threads_per_block = 256 };

template <class T, class W>
__global__ void expand_kernel(T *__restrict__ out,               // (rows, C)
                              const uint8_t *__restrict__ codes, // (rows, C)
                              const float *__restrict__ scales,  // (rows)
                              int64_t groups, int64_t C) {
    const int64_t group = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (group >= groups) { return; }
    constexpr int size = vec16<W>::size;
    const float scale = scales[group * size / C] * W::unit;
    float values[size], four[4];
    unpack(values, vec16_load((const W *)codes + group * size));
#pragma unroll
    for (int e = 0; e < size; e++) {
        four[e % 4] = values[e] * scale;
        if (e % 4 == 3) { store_four(out + group * size + e - 3, four); }
    }
}

template <class T>
__global__ void expand_odd_kernel(T *__restrict__ out,               // (rows, C)
                                  const uint8_t *__restrict__ codes, // (rows, C)
                                  const float *__restrict__ scales,  // (rows)
                                  int64_t count, int64_t C, gpt2_scheme scheme) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = from_float<T>(code_value(codes[i], scheme) * scales[i / C]); }
}

template <class T>
int expand(gpt2_device &device, T *out, const code_matrix &matrix, gpt2_scheme scheme, int64_t first, int64_t rows,
           int64_t C) {
    const uint8_t *codes = matrix.codes + first * C;
    const float *scales = matrix.scales + first;
    constexpr int size = vec16<int8_code>::size;
    const int64_t groups = rows * C / size;
    if (C % size != 0) {
        expand_odd_kernel<<<blocks_of(rows * C, threads_per_block), threads_per_block, 0, device.stream>>>(
            out, codes, scales, rows * C, C, scheme);
    } else if (scheme == GPT2_INT8) {
        expand_kernel<T, int8_code><<<blocks_of(groups, threads_per_block), threads_per_block, 0, device.stream>>>(
            out, codes, scales, groups, C);
    } else {
        expand_kernel<T, e4m3_code><<<blocks_of(groups, threads_per_block), threads_per_block, 0, device.stream>>>(
            out, codes, scales, groups, C);
    }
    return cudaGetLastError();
}

#define INSTANTIATE(T) \
    template int expand(gpt2_device &, T *, const code_matrix &, gpt2_scheme, int64_t, int64_t, int64_t);
FOR_EACH_TYPE(INSTANTIATE)

// eight_bits.cu — products of a matrix in 8 bits: expanded to T for products that read T, or by activations in 8 bits
// (eight_bits.cuh)
//
// Expanding
// Purpose   Prompts and large batches are limited by arithmetic, not by the bytes of the weights: their products stay those of
//           cuBLASLt, and read a matrix that was expanded once for the pass.
// Bytes     C OC read, s C OC written, for elements of s bytes; the product then reads s C OC. 12 C C weights a block: 124M in
//           bf16, 7 MB read and 14 MB written, 5 us on an H200 at 4 TB/s.
// Kernel    expand_kernel<T, W>: a thread per 16 codes, one load and 16 elements of T; expand_odd_kernel: a thread per code,
//           for rows that are no multiple of 16.
//
// Activations in 8 bits
// Purpose   Tensor cores multiply codes at twice the rate of 16-bit types. The input of a product is rounded to codes with one
//           static scale.
// Math      code[n][c] = round(x[n][c] / input);  y[n][o] = activation?(input scale[o] sum of code[n][c] weight[o][c] + bias[o])
// Bytes     to codes: s N C read, N C written. fp8: cuBLASLt multiplies the sums by both scales, and has bias and GELU in its
//           epilogue.
//           int8: its sums are whole numbers of 4 bytes, (N, OC), written by cuBLASLt and read by finish_kernel, which writes s
//           N OC. So int8 moves more bytes than 16 bits do.
// Kernel    quantize_kernel: a thread per 16 elements. finish_kernel: a thread per 4 elements; also for fp8 where cuBLASLt's
//           epilogue has no bias (fp32) or not the activation.
#include "gpt2/model/eight_bits.cuh"

#include "gpt2/model/activation.cuh"
#include "gpt2/model/matmul.cuh"

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

// ---- activations in 8 bits ----

template <class T, class W>
__global__ void quantize_kernel(uint8_t *__restrict__ codes,     // (padded, C)
                                const T *__restrict__ x,         // (N, C)
                                const float *__restrict__ input, // (1)
                                int64_t groups, int64_t padded_groups) {
    constexpr int size = vec16<W>::size, each = vec16<T>::size;
    const int64_t group = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (group >= padded_groups) { return; }
    const float inverse = 1.0f / *input;
    uint4 bits = {0, 0, 0, 0};
    if (group < groups) {
        uint8_t code[size];
#pragma unroll
        for (int first = 0; first < size; first += each) {
            float values[each];
            unpack(values, vec16_load(x + group * size + first));
#pragma unroll
            for (int e = 0; e < each; e++) { code[first + e] = code_of(values[e] * inverse, W{}); }
        }
        memcpy(&bits, code, sizeof bits);
    }
    *(uint4 *)(codes + group * size) = bits;
}

// out = activation?(sums scale input + bias); sums may be out. Without scales: activation?(sums + bias).
template <class T, class S>
__global__ void finish_kernel(T *out,                           // (N, OC)
                              const S *sums,                    // (N, OC)
                              const float *__restrict__ scales, // (OC), or null
                              const float *__restrict__ input,  // (1)
                              const T *__restrict__ bias,       // (OC), or null
                              int64_t count, int OC, bool activated, gpt2_activation activation) {
    const int64_t first = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= count) { return; }
    const int column = (int)(first % OC);
    float four[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float y;
        if constexpr (std::is_same_v<S, int>) {
            y = (float)sums[first + e];
        } else {
            y = to_float(sums[first + e]);
        }
        if (scales != nullptr) { y *= scales[column + e] * *input; }
        if (bias != nullptr) { y += to_float(bias[column + e]); }
        four[e] = activated ? activate(y, activation) : y;
    }
    store_four(out + first, four);
}

template <class T, class W>
static int quantize(gpt2_device &device, uint8_t *codes, const T *x, const float *input, int N, int C) {
    const int64_t groups = (int64_t)N * C / vec16<W>::size, padded = padded_codes(N) * C / vec16<W>::size;
    quantize_kernel<T, W><<<blocks_of(padded, threads_per_block), threads_per_block, 0, device.stream>>>(
        codes, x, input, groups, padded);
    return cudaGetLastError();
}

template <class T, class S>
static int finish(gpt2_device &device, T *out, const S *sums, const float *scales, const float *input, const T *bias,
                  bool activated, gpt2_activation activation, int N, int OC) {
    const int64_t count = (int64_t)N * OC;
    finish_kernel<<<blocks_of(count / 4, threads_per_block), threads_per_block, 0, device.stream>>>(
        out, sums, scales, input, bias, count, OC, activated, activation);
    return cudaGetLastError();
}

template <class T>
int matmul_codes(gpt2_device &device, T *out, const T *x, const code_matrix &weight, gpt2_scheme scheme, const T *bias,
                 bool activated, gpt2_activation activation, const code_room &room, int N, int C, int OC) {
    const int padded = (int)padded_codes(N);
    if (C % 16 != 0 || OC % 16 != 0) { return cudaErrorInvalidValue; }
    if (scheme == GPT2_INT8) {
        TRY((quantize<T, int8_code>(device, room.codes, x, weight.input, N, C)));
        TRY(matmul_int8(device, room.sums, room.codes, weight.codes, padded, C, OC));
        return finish(device, out, room.sums, weight.scales, weight.input, bias, activated, activation, N, OC);
    }
    const bool in_epilogue = sizeof(T) == 2 && (!activated || activation == GPT2_GELU_TANH);
    const T *const nothing = nullptr;
    TRY((quantize<T, e4m3_code>(device, room.codes, x, weight.input, N, C)));
    TRY(matmul_fp8(device, out, room.codes, weight.codes, in_epilogue ? bias : nothing, weight.input, weight.scales,
                   in_epilogue && activated, padded, C, OC));
    return in_epilogue ? 0 : finish(device, out, out, nullptr, nullptr, bias, activated, activation, N, OC);
}

#define INSTANTIATE(T)                                                                                          \
    template int expand(gpt2_device &, T *, const code_matrix &, gpt2_scheme, int64_t, int64_t, int64_t);       \
    template int matmul_codes(gpt2_device &, T *, const T *, const code_matrix &, gpt2_scheme, const T *, bool, \
                              gpt2_activation, const code_room &, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

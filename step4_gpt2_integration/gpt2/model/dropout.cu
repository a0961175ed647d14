// dropout.cu — the masks' keys, and a tensor times its mask (dropout.cuh)
//
// Purpose   The branches, the embedding, their gradients, and in the taught form the attention's weights and their gradients.
//           Fused attention computes the factors in its own kernels.
// Math      out = x times 0 or 1 / (1 - probability)
// Bytes     x is read, out is written: 2 elements each, and none for the mask.
// Kernel    a thread has 16 bytes; the last thread has the rest
#include "gpt2/model/dropout.cuh"

#include "gpt2/model/vec16.cuh"

enum { threads_per_block = 256 };

template <class T>
__global__ void dropout_kernel(T *out,     // (count)
                               const T *x, // (count)
                               int64_t count, int64_t first, dropout drop) {
    constexpr int size = vec16<T>::size;
    const int64_t begin = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * size;
    if (begin + size <= count) {
        float values[size];
        T elements[size];
        uint4 bits;
        unpack(values, vec16_load(x + begin));
        for (int e = 0; e < size; e++) {
            elements[e] = from_float<T>(values[e] * dropout_factor(drop, (uint64_t)(first + begin + e)));
        }
        memcpy(&bits, elements, sizeof bits);
        *(uint4 *)(out + begin) = bits;
    } else {
        for (int64_t i = begin; i < count; i++) {
            out[i] = from_float<T>(to_float(x[i]) * dropout_factor(drop, (uint64_t)(first + i)));
        }
    }
}

template <class T>
int dropout_forward(gpt2_device &device, T *out, const T *x, int64_t count, int64_t first, const dropout &drop) {
    const int64_t threads = (count + vec16<T>::size - 1) / vec16<T>::size;
    dropout_kernel<<<blocks_of(threads, threads_per_block), threads_per_block, 0, device.stream>>>(out, x, count, first,
                                                                                                   drop);
    return cudaGetLastError();
}

dropout dropout_of_pass(double probability, uint64_t seed, int64_t pass) {
    constexpr uint64_t name = 0x64726f706f7574; // "dropout": the initial weights have the same seed
    if (probability == 0.0) { return {}; }
    return {gpt2_mix(gpt2_mix(seed ^ name) + (uint64_t)pass), (uint32_t)(0x1p32 * probability),
            (float)(1.0 / (1.0 - probability))};
}

dropout dropout_at(const dropout &pass, dropout_place place, int layer) {
    dropout drop = pass;
    drop.key = gpt2_mix(pass.key + 4 * (uint64_t)layer + (uint64_t)place);
    return drop;
}

#define INSTANTIATE(T) template int dropout_forward(gpt2_device &, T *, const T *, int64_t, int64_t, const dropout &);
FOR_EACH_TYPE(INSTANTIATE)

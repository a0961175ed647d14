// launch_decode.cu — the launchers of decode_attention around the template that lab 4 writes
#include "gpt2/lab/launch.cuh"
#include "gpt2/model/decode.cuh"
#include "ops/decode_attention/contract.h"

template <class T>
static int decode(T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D, int S,
                  cudaStream_t stream) {
    gpt2_device *device;
    TRY(lab_device(&device, stream));
    return decode_attention(*device, out, k, v, qkv, positions, B, H, D, S);
}

#define LAUNCHERS(T, type)                                                                                          \
    int decode_attention_##type(T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D, int S, \
                                cudaStream_t stream) {                                                              \
        return decode(out, k, v, qkv, positions, B, H, D, S, stream);                                               \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)

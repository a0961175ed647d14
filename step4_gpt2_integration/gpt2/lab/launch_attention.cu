// launch_attention.cu — the launchers of attention_forward around the template that lab 4 writes
#include "gpt2/lab/launch.cuh"
#include "gpt2/model/attention.cuh"
#include "ops/attention_forward/contract.h"

template <class T>
static int attention(T *k, T *v, T *out, T *query, T *scores, const T *qkv, const int *lengths, int B, int T_, int H,
                     int D, int S, cudaStream_t stream) {
    gpt2_device *device;
    TRY(lab_device(&device, stream));
    return attention_forward(*device, lab_kernels(), out, k, v, query, scores, qkv, lengths, B, T_, H, D, S);
}

#define LAUNCHERS(T, type)                                                                                         \
    int attention_forward_##type(T *k, T *v, T *out, T *query, T *scores, const T *qkv, const int *lengths, int B, \
                                 int T_, int H, int D, int S, cudaStream_t stream) {                               \
        return attention(k, v, out, query, scores, qkv, lengths, B, T_, H, D, S, stream);                          \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)

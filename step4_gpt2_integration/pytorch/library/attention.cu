// attention.cu — the model's fused causal attention (gpt2/model/attention_fused.cuh) under C names
//
//   course_attention_forward_T     out (B, T, H, D) and lse (B, H, T) from qkv (B, T, 3, H, D)
//   course_attention_backward_T    dqkv (B, T, 3, H, D) from dout; delta (B, H, T) is scratch. For 16-bit types: fp32 gives
//                                  cudaErrorNotSupported
//
// lse may be null when no gradient is wanted. lengths: (B), each in 1..T.
#include "gpt2/model/attention_fused.cuh"

// The current device, as far as attention asks for it. Without one, its capability is 0.
static gpt2_device device_on(cudaStream_t stream) {
    gpt2_device device = {};
    device.stream = stream;
    int current = 0, major = 0, minor = 0;
    if (cudaGetDevice(&current) == cudaSuccess) {
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current);
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, current);
        cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, current);
    }
    device.capability = 10 * major + minor;
    return device;
}

// Of 16-bit types; also on the CPU backend.
static bool has_tensor_cores(const gpt2_device &device) {
    return device.capability >= 80;
}

template <class T>
static int forward(T *out, float *lse, const T *qkv, const int *lengths, int B, int T_, int H, int D,
                   cudaStream_t stream) {
    if (B * H == 0) { return cudaSuccess; }
    gpt2_device device = device_on(stream);
    return attention_fused<T>(device, out, nullptr, nullptr, lse, qkv, lengths, B, T_, H, D, T_,
                              has_tensor_cores(device));
}

template <class T>
static int backward(T *dqkv, float *delta, const T *dout, const T *out, const T *qkv, const float *lse, int B, int T_,
                    int H, int D, cudaStream_t stream) {
    if (B * H == 0) { return cudaSuccess; }
    gpt2_device device = device_on(stream);
    if (!has_tensor_cores(device)) { return cudaErrorNotSupported; }
    return attention_fused_backward<T>(device, dqkv, delta, dout, out, qkv, lse, B, T_, H, D);
}

#define EXPORT(name, T)                                                                                               \
    extern "C" int course_attention_forward_##name(T *out, float *lse, const T *qkv, const int *lengths, int B,       \
                                                   int T_, int H, int D, cudaStream_t stream) {                       \
        return forward(out, lse, qkv, lengths, B, T_, H, D, stream);                                                  \
    }                                                                                                                 \
    extern "C" int course_attention_backward_##name(T *dqkv, float *delta, const T *dout, const T *out, const T *qkv, \
                                                    const float *lse, int B, int T_, int H, int D,                    \
                                                    cudaStream_t stream) {                                            \
        return backward(dqkv, delta, dout, out, qkv, lse, B, T_, H, D, stream);                                       \
    }
EXPORT(f32, float)
EXPORT(f16, __half)
EXPORT(bf16, __nv_bfloat16)

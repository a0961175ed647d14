// attention_fused_backward.cu — launches the gradient of fused causal self-attention
//
// Kernels   attention_fused_backward_tensor.cuh
// Bytes     Q, K, V, dout and out read, dqkv written: 11 B T C elements, and of L2 the tiles that blocks read again.
//           The taught form moves 8.5 B H T T of scores besides, and 22 B T C to split and join the heads.
// Launches  2, where the taught form has 9.
#include "gpt2/model/attention_fused_backward.cuh"

#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/attention_fused_backward_tensor.cuh"

#include <cmath>

template <class T, int P, int M>
static int launch_padded(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                         const float *lse, int B, int T_, int H, int D) {
    constexpr int shared = backward_shared_bytes<P>(), rows = tensor_tile * M;
    const float scale = 1.0f / sqrtf((float)D);
    const bool whole = D % 8 == 0;
    const dim3 blocks((unsigned)(B * H), (unsigned)((T_ + rows - 1) / rows));
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(attention_dq_kernel<T, P, M>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
        TRY(cudaFuncSetAttribute(attention_dkv_kernel<T, P, M>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    }
    attention_dq_kernel<T, P, M>
        <<<blocks, tensor_threads, shared, device.stream>>>(dqkv, delta, dout, out, qkv, lse, T_, H, D, scale, whole);
    TRY(cudaGetLastError());
    attention_dkv_kernel<T, P, M>
        <<<blocks, tensor_threads, shared, device.stream>>>(dqkv, dout, qkv, lse, delta, T_, H, D, scale, whole);
    return cudaGetLastError();
}

template <class T>
int attention_fused_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                             const float *lse, int B, int T_, int H, int D) {
    if (D > most_fused_channels) { return cudaErrorInvalidValue; }
    if constexpr (has_fused_backward<T>) {
        return (D <= 64 ? launch_padded<T, 64, 2> : launch_padded<T, 128, 1>)(device, dqkv, delta, dout, out, qkv, lse,
                                                                              B, T_, H, D);
    }
    return cudaErrorNotSupported;
}

#define INSTANTIATE(T)                                                                                                 \
    template int attention_fused_backward(gpt2_device &, T *, float *, const T *, const T *, const T *, const float *, \
                                          int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)

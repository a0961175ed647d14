// attention_fused_backward.cuh — the gradient of fused causal self-attention: what its `.cu` promises
//
// The same as attention_backward (attention_backward.cuh) of sequences that all have T tokens, as they have in
// training, to rounding; and no score leaves the multiprocessor. For bf16, the type that training has with 16 bits; it
// takes sm_80, or the CPU backend's twins.
#ifndef GPT2_ATTENTION_FUSED_BACKWARD_CUH
#define GPT2_ATTENTION_FUSED_BACKWARD_CUH

#include "gpt2/model/device.cuh"

#include <type_traits>

template <class T> constexpr bool has_fused_backward = std::is_same_v<T, __nv_bfloat16>;

// dqkv    (B, T, 3, H, D)  overwritten; may not be qkv
// delta   (B, H, T)        room to work in
// dout    (B, T, C)        the gradient of out; C = H * D, D <= most_fused_channels
// out     (B, T, C)        what attention_fused gave
// qkv     (B, T, 3, H, D)  what it had
// lse     (B, H, T)        what it gave besides
// Another type: cudaErrorNotSupported.
template <class T>
int attention_fused_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                             const float *lse, int B, int T_, int H, int D);

#endif

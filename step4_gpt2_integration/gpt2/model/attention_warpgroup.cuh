// attention_warpgroup.cuh — causal self-attention for Hopper, by its warpgroup products and its copy engine
//
// The same as attention_fused without dropout, to rounding, for heads of 64 or 128 channels of a 16-bit type.
#ifndef GPT2_ATTENTION_WARPGROUP_CUH
#define GPT2_ATTENTION_WARPGROUP_CUH

#include "gpt2/model/device.cuh"

// Does attention_warpgroup run on this device, on these tensors? It runs on compute capability 9.0 alone: later GPUs have other
// products. The copy engine needs addresses that are multiples of 16 bytes.
template <class T>
bool has_attention_warpgroup(const gpt2_device &device, const T *out, const T *k, const T *v, const T *qkv, int D);

// out, k, v, lse, qkv, lengths, S, ends: as of attention_fused, with D = 64 or 128
template <class T>
int attention_warpgroup(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                        int T_, int H, int D, int S, bool ends);

// ---- the gradient ----

// The same as attention_fused_backward without dropout, to rounding, for heads of 64 channels of a 16-bit type. Where it runs
// is as above.
template <class T>
bool has_attention_warpgroup_backward(const gpt2_device &device, const T *dqkv, const T *dout, const T *out,
                                      const T *qkv, int D);

// dqkv, delta, dout, out, qkv, lse: as of attention_fused_backward, with D = 64
template <class T>
int attention_warpgroup_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                                 const float *lse, int B, int T_, int H);

#endif

// decode_fused.cuh — a step of decoding in 5 launches a block: what `decode_fused.cu` promises
#ifndef GPT2_DECODE_FUSED_CUH
#define GPT2_DECODE_FUSED_CUH

#include "gpt2/model/params.cuh"

// Do its kernels take B sequences of this model?
template <class T> bool decode_step_takes(const tensors<T> &all, int B);

// What decode_step (forward.cuh) does, to rounding. greedy: with tokens chosen on the device from the last logits.
template <class T> int decode_step_fused(gpt2_device &device, tensors<T> &all, int B, bool greedy);

// Attention of a step, the keys split over blocks.
template <class T> int attend_split(gpt2_device &device, tensors<T> &all, int layer, int B);

#endif

// decode_persistent.cuh — decoding of one sequence: one kernel for many tokens
#ifndef GPT2_DECODE_PERSISTENT_CUH
#define GPT2_DECODE_PERSISTENT_CUH

#include "gpt2/model/params.cuh"

// Can it decode this model on this device, for one sequence? Weights: in T, or in int8 beside a 16-bit T.
template <class T>
bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config, gpt2_scheme scheme);

// Bytes of device memory that it needs, zeros before the first call. Only this kernel uses them.
size_t decode_persistent_bytes(const gpt2_config &config);

// Chooses and adds `steps` tokens to the sequence, as choice_begin and as many steps with a choice on the device. Results are in
// all.work: logits, positions, choice. choice_begin comes before.
template <class T> int decode_persistent(gpt2_device &device, tensors<T> &all, int steps);

// The residual stream is too large for the totals of this kernel; or, with codes, it has grown or shrunk too much within a layer.
constexpr int decode_imprecise = -1;

// After the stream has been waited for: cudaErrorLaunchTimeout if a block has waited in vain for another one; decode_imprecise.
template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all);

// After decode_imprecise: the logits are those of before the call.
template <class T> int decode_persistent_undo(gpt2_device &device, tensors<T> &all);

#endif

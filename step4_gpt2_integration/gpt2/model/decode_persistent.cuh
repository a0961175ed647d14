// decode_persistent.cuh — greedy decoding of one sequence: one kernel for many tokens
#ifndef GPT2_DECODE_PERSISTENT_CUH
#define GPT2_DECODE_PERSISTENT_CUH

#include "gpt2/model/params.cuh"

// Can it decode this model on this device, for one sequence?
template <class T> bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config);

// Bytes of device memory that it needs, zeros before the first call. Only this kernel uses them.
template <class T> size_t decode_persistent_bytes(const gpt2_device &device, const gpt2_config &config);

// Chooses and adds `steps` tokens to the sequence, as greedy_begin and as many steps with a choice on the device. Results are in
// all.work: logits, positions, greedy. greedy_begin comes before.
template <class T> int decode_persistent(gpt2_device &device, tensors<T> &all, int steps);

// After the stream has been waited for: cudaErrorLaunchTimeout if a block has waited in vain for another one.
template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all);

#endif

// hash.cuh — a hash of the bits of a flat array, to compare the state of ranks
#ifndef GPT2_HASH_CUH
#define GPT2_HASH_CUH

#include "gpt2/model/device.cuh"

enum { hash_most_parts = 1024 };

// *hash = the sum, modulo 2^64, of mix(i << 32 ^ the bits of x[i]): the same in any order of additions. Waits.
// x (count)  partial (hash_most_parts): scratch on the device
int array_hash(gpt2_device &device, uint64_t *hash, uint64_t *partial, const float *x, int64_t count);

#endif

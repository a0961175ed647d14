// optimizer.cuh — the gradients' norm, and AdamW, over flat arrays
#ifndef GPT2_OPTIMIZER_CUH
#define GPT2_OPTIMIZER_CUH

#include "gpt2/model/device.cuh"
#include "gpt2/train/trainer.h"

enum { norm_most_parts = 1024 };

// *norm = sqrt(sum of g[i]^2). The order of the sums depends on the count alone: the same gradients give the same bits.
// norm (1)  partial (norm_most_parts): scratch  gradients (count)
int gradient_norm(gpt2_device &device, double *norm, double *partial, const float *gradients, int64_t count);

// *norm = sqrt(sum of norms[r]^2), added in the order of r. norms (ranks): of the parts of an array.
int join_norms(gpt2_device &device, double *norm, const double *norms, int ranks);

// One step (from 1) of AdamW on master, m and v; then weights = master rounded. The first `matrices` elements decay. Where
// *norm is larger than `clip` the gradients are scaled to it. Where it is not finite nothing changes.
// weights (count), null when T is float; master, gradients, m, v (count): 16-byte aligned. count and matrices: multiples of 4;
// in the flat layout they are multiples of 128 (training.cuh).
template <class T>
int adamw(gpt2_device &device, T *weights, float *master, const float *gradients, float *m, float *v, int64_t count,
          int64_t matrices, const gpt2_adamw &settings, int64_t step, const double *norm);

// weights = master rounded
template <class T> int round_weights(gpt2_device &device, T *weights, const float *master, int64_t count);

#endif

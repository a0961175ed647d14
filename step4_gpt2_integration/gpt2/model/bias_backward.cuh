// bias_backward.cuh — the gradient of a bias: column sums
#ifndef GPT2_BIAS_BACKWARD_CUH
#define GPT2_BIAS_BACKWARD_CUH

#include "gpt2/model/device.cuh"

enum { bias_most_parts = 128 };

// dbias[c] += sum over n of dout[n][c]. The order of the sums is fixed: the same call gives the same bits.
// dbias (C)  partial (bias_most_parts, C): scratch  dout (N, C)
template <class T> int bias_backward(gpt2_device &device, float *dbias, float *partial, const T *dout, int N, int C);

#endif

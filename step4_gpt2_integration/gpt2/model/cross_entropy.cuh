// cross_entropy.cuh — the loss of each row of logits, and its gradient
#ifndef GPT2_CROSS_ENTROPY_CUH
#define GPT2_CROSS_ENTROPY_CUH

#include "gpt2/model/device.cuh"

// losses[n] = log(sum over v of exp(logits[n][v])) - logits[n][targets[n]]; 0 for a negative target
// logits (N, Vp), of which V columns count
int cross_entropy(gpt2_device &device, float *losses, const float *logits, const int *targets, int N, int V, int Vp);

// losses[n] = log(sum over v of exp(logits[n][v])) - logits[n][targets[n]]
// dlogits[n][v] = scale * (softmax(logits[n])[v] - [v == targets[n]])        0 for v >= V
// A negative target gives a loss of 0 and a row of zeros.
// logits (N, Vp), of which V columns count. dlogits, of type T, overwrites them row by row, so the width of its rows is
// Vp * sizeof(float) / sizeof(T).
template <class T>
int cross_entropy_backward(gpt2_device &device, float *losses, float *logits, const int *targets, float scale, int N,
                           int V, int Vp);

#endif

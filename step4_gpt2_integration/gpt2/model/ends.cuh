// ends.cuh — the small kernels at both ends of the model: embedding, picking rows, counting positions, losses
#ifndef GPT2_ENDS_CUH
#define GPT2_ENDS_CUH

#include "gpt2/model/device.cuh"

// out[b][t] = token_embedding[tokens[b][t]] + position_embedding[start + t], start = positions[b], or 0 where that is null.
// A negative token counts as 0.  out (B, T, C)  token_embedding (Vp, C)  position_embedding (maxT, C)  tokens (B, T)
template <class T>
int embed(gpt2_device &device, T *out, const T *token_embedding, const T *position_embedding, const int *tokens,
          const int *positions, int B, int T_, int C);

// out[b] = x[b][lengths[b] - 1]           out (B, C)  x (B, T, C)
template <class T> int last_rows(gpt2_device &device, T *out, const T *x, const int *lengths, int B, int T_, int C);

// positions[b] += 1 where tokens[b] is not negative, as far as S - 1.
int advance(gpt2_device &device, int *positions, const int *tokens, int B, int S);

// losses[n] = log(sum over v of exp(logits[n][v])) - logits[n][targets[n]]; 0 for a negative target
// logits (N, Vp), of which V columns count
int cross_entropy(gpt2_device &device, float *losses, const float *logits, const int *targets, int N, int V, int Vp);

#endif

// ends_backward.cuh — the gradients at both ends of the model: of the loss to the logits, and to the embeddings
#ifndef GPT2_ENDS_BACKWARD_CUH
#define GPT2_ENDS_BACKWARD_CUH

#include "gpt2/model/device.cuh"

#include <vector>

// losses[n] = log(sum over v of exp(logits[n][v])) - logits[n][targets[n]]
// dlogits[n][v] = scale * (softmax(logits[n])[v] - [v == targets[n]])        0 for v >= V
// A negative target gives a loss of 0 and a row of zeros.
// logits (N, Vp), of which V columns count; they are lost: dlogits, whose type is T, lies where they were, row on row, so that
// the width of its rows is Vp * sizeof(float) / sizeof(T).
template <class T>
int cross_entropy_backward(gpt2_device &device, float *losses, float *logits, const int *targets, float scale, int N,
                           int V, int Vp);

// Which rows have which token: run r is the rows order[starts[r] .. starts[r + 1] - 1], in rising order, all of one token.
struct token_runs {
    std::vector<int> order;  // (N)
    std::vector<int> starts; // (runs + 1)
};
token_runs token_runs_of(const int32_t *tokens, int N, int V); // on the host

// dtoken[tokens[n]] += d[n] and dposition[t] += sum over b of d[b][t]. One thread adds up all that one element gets, in the
// order of the rows: no atomics, the same bits in every run.
// dtoken (V, C)  dposition (maxT, C)  d (B, T, C)  tokens (B, T)  order (N), starts (runs + 1): on the device
template <class T>
int embed_backward(gpt2_device &device, float *dtoken, float *dposition, const T *d, const int *tokens,
                   const int *order, const int *starts, int runs, int B, int T_, int C);

#endif

// embedding.cuh — tokens to vectors and back: the embedding and its gradient, selecting rows, counting positions
#ifndef GPT2_EMBEDDING_CUH
#define GPT2_EMBEDDING_CUH

#include "gpt2/model/eight_bits.cuh"

#include <vector>

// out[b][t] = token_embedding[tokens[b][t]] + position_embedding[start + t], start = positions[b], or 0 where that is null.
// A negative token is read as 0.  out (B, T, C)  token_embedding (Vp, C)  position_embedding (maxT, C)  tokens (B, T)
template <class T>
int embed(gpt2_device &device, T *out, const lookup_table<T> &token_embedding, const T *position_embedding,
          const int *tokens, const int *positions, int B, int T_, int C);

template <class T>
int embed(gpt2_device &device, T *out, const T *token_embedding, const T *position_embedding, const int *tokens,
          const int *positions, int B, int T_, int C) {
    const lookup_table<T> plain = {token_embedding, {}, GPT2_PLAIN, C};
    return embed(device, out, plain, position_embedding, tokens, positions, B, T_, C);
}

// out[b] = x[b][lengths[b] - 1]           out (B, C)  x (B, T, C)
template <class T> int last_rows(gpt2_device &device, T *out, const T *x, const int *lengths, int B, int T_, int C);

// positions[b] += 1, up to S - 1, where tokens[b] is not negative.
int advance(gpt2_device &device, int *positions, const int *tokens, int B, int S);

// The rows sorted by token: run r has the rows order[starts[r] .. starts[r + 1] - 1], in ascending order, all of one token.
struct token_runs {
    std::vector<int> order;  // (N)
    std::vector<int> starts; // (runs + 1)
};
token_runs token_runs_of(const int32_t *tokens, int N, int V); // on the host

// dtoken[tokens[n]] += d[n] and dposition[t] += sum over b of d[b][t]. One thread adds all contributions to an element, in the
// order of the rows, without atomics: every run has the same bits.
// dtoken (V, C)  dposition (maxT, C)  d (B, T, C)  tokens (B, T)  order (N), starts (runs + 1): on the device
template <class T>
int embed_backward(gpt2_device &device, float *dtoken, float *dposition, const T *d, const int *tokens,
                   const int *order, const int *starts, int runs, int B, int T_, int C);

#endif

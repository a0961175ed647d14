// greedy.cuh — chooses the likeliest token on the device, so that the next step does not wait for the host
#ifndef GPT2_GREEDY_CUH
#define GPT2_GREEDY_CUH

#include "gpt2/model/eight_bits.cuh"

// All of it is in device memory, so that a recorded step serves every call.
struct greedy_state {
    int *settings; // (2)     the number of ids to choose among, and the id that stops a sequence (-1: none)
    int *left;     // (B)     the number of tokens that the sequence may still receive
    int *count;    // (B)     tokens chosen since greedy_begin
    int *chosen;   // (B, S)  the chosen tokens: -1 while the sequence rests, no_token where logits are NaN
};
enum { no_token = -2 };

// left: (B) on the host.
int greedy_begin(gpt2_device &device, greedy_state &state, int choices, int stop, const int *left, int B);

// The first kernel of a step. With a state, tokens (B) become the likeliest of logits (B, Vp), or -1 where the sequence rests. With
// null the tokens are given. Then out (B, C) = their embedding at positions (B), that of token 0 for a resting sequence. With out
// null there is no embedding.
template <class T>
int begin_step(gpt2_device &device, T *out, int *tokens, const greedy_state *state, const float *logits,
               const lookup_table<T> &token_embedding, const T *position_embedding, const int *positions, int B, int C,
               int Vp, int S);

#endif

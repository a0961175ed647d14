// greedy.cuh — choosing the likeliest token on the device, so that the next step needs nothing from the host
#ifndef GPT2_GREEDY_CUH
#define GPT2_GREEDY_CUH

#include "gpt2/model/device.cuh"

// All on the device, so that a recorded step serves every call.
struct greedy_state {
    int *settings; // (2)     among how many ids, and the id that stops a sequence (-1: none)
    int *left;     // (B)     tokens that the sequence may still be given
    int *count;    // (B)     tokens chosen since greedy_begin
    int *chosen;   // (B, S)  them: -1 while resting, no_token where logits were NaN
};
enum { no_token = -2 };

// left: (B) on the host.
int greedy_begin(gpt2_device &device, greedy_state &state, int choices, int stop, const int *left, int B);

// A step's first kernel. With a state, tokens (B) become the likeliest of logits (B, Vp), or -1 where the sequence rests; without
// (null) they are there. Then out (B, C) = their embedding at positions (B), a resting one's as token 0; out null: no embedding.
template <class T>
int begin_step(gpt2_device &device, T *out, int *tokens, const greedy_state *state, const float *logits,
               const T *token_embedding, const T *position_embedding, const int *positions, int B, int C, int Vp,
               int S);

#endif

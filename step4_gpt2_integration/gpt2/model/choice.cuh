// choice.cuh — chooses the next token on the device, so that the next step does not wait for the host
#ifndef GPT2_CHOICE_CUH
#define GPT2_CHOICE_CUH

#include "gpt2/model/eight_bits.cuh"
#include "gpt2/model/model.h"

// How a token is chosen: sampling.cuh.
struct choice_settings {
    int choices, stop; // the number of ids to choose among, and the id that stops a sequence (-1: none)
    gpt2_sampling by;
    float unit; // of sums of weights: block_draw
};

// All of it is in device memory, so that a recorded step serves every call.
struct choice_state {
    choice_settings *settings;
    int *left;        // (B)     the number of tokens that the sequence may still receive
    int *count;       // (B)     tokens chosen since choice_begin
    int *chosen;      // (B, S)  the chosen tokens: -1 while the sequence rests, no_token where logits are NaN
    uint64_t *random; // (B)     of draws: gpt2_random_next
    uint8_t *seen;    // (B, V)  1 for the tokens in the sequence. Only where there is a repetition penalty
};
enum { no_token = -2 };

// left: (B) on the host. draws: null for the likeliest token; seen in it may be null without a penalty.
int choice_begin(gpt2_device &device, choice_state &state, int choices, int stop, const gpt2_draws *draws,
                 const int *left, int B, int V);

// The first kernel of a step. With a state, tokens (B) are chosen by the logits (B, Vp), or become -1 where the sequence rests;
// a draw overwrites the logits. With null the tokens are given. Then out (B, C) = their embedding at positions (B), that of
// token 0 for a resting sequence. With out null there is no embedding.
template <class T>
int begin_step(gpt2_device &device, T *out, int *tokens, const choice_state *state, float *logits,
               const lookup_table<T> &token_embedding, const T *position_embedding, const int *positions, int B, int C,
               int V, int Vp, int S);

#endif

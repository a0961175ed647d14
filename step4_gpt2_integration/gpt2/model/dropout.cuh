// dropout.cuh — dropout in training: the mask of each tensor, computed where it is needed and never stored
//
//   key  = mix(mix(mix(seed ^ "dropout") + pass) + 4 layer + place)          pass: of all passes of the run, its number
//   drop = (mix(key + index) >> 32) < floor(2^32 probability)                index: of the element in its tensor
//   out  = drop ? 0 : x / (1 - probability)
//
// mix is splitmix64 (gpt2_mix). A mask is a function of its place alone, so the backward pass and a resumed run compute the
// same one, and no two micro-batches have the same one.
#ifndef GPT2_DROPOUT_CUH
#define GPT2_DROPOUT_CUH

#include "gpt2/model/device.cuh"

// The embedding (N, C), the attention's weights (B, H, T, T) after the softmax, and the two branches (N, C) before they are
// added to the residual stream.
enum dropout_place { DROPOUT_EMBEDDING, DROPOUT_WEIGHTS, DROPOUT_ATTENTION, DROPOUT_MLP };

// The masks of a pass, or of one of its tensors. Default-initialised: no dropout.
struct dropout {
    uint64_t key;
    uint32_t below; // an element is dropped where its 32 random bits are below it; 0: none is
    float scale;    // of the others
};

dropout dropout_of_pass(double probability, uint64_t seed, int64_t pass);
dropout dropout_at(const dropout &pass, dropout_place place, int layer);

// The factor of an element.
__device__ inline float dropout_factor(const dropout &drop, uint64_t index) {
    return (uint32_t)(gpt2_mix(drop.key + index) >> 32) < drop.below ? 0.0f : drop.scale;
}

// out[i] = x[i] times the factor of element first + i.  out, x (count): 16-byte aligned; out may be x
template <class T>
int dropout_forward(gpt2_device &device, T *out, const T *x, int64_t count, int64_t first, const dropout &drop);

#endif

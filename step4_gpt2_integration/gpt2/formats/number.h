/* number.h — the three types of stored weights, and conversions between them, on the host. */
#ifndef GPT2_NUMBER_H
#define GPT2_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define GPT2_ON_BOTH static __host__ __device__ inline
#else
#define GPT2_ON_BOTH static inline
#endif

/* splitmix64 of one number: the random numbers of this library, on the host and on the device. */
GPT2_ON_BOTH uint64_t gpt2_mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The random numbers of a sequence, each of which has its own: every seed is valid. */
GPT2_ON_BOTH uint64_t gpt2_random_next(uint64_t *state) {
    uint64_t random = gpt2_mix(*state);
    *state += 0x9e3779b97f4a7c15u;
    return random;
}
GPT2_ON_BOTH uint64_t gpt2_random_begin(uint64_t seed, uint64_t sequence) {
    return gpt2_random_next(&seed) ^ sequence * 0xd1342543de82ef95u;
}

/* In [0, 1), with 53 bits. */
GPT2_ON_BOTH double gpt2_uniform(uint64_t random) {
    return (double)(random >> 11) * (1.0 / 9007199254740992.0);
}

enum gpt2_type { GPT2_F32, GPT2_F16, GPT2_BF16 };

static inline size_t gpt2_type_bytes(enum gpt2_type type) {
    return type == GPT2_F32 ? 4 : 2;
}

/* As safetensors spells it: "F32", "F16", "BF16". */
const char *gpt2_type_name(enum gpt2_type type);

/* Exact. */
float gpt2_float_of_f16(uint16_t bits);
float gpt2_float_of_bf16(uint16_t bits);

/* Round to nearest, ties to even; overflow to infinity; a NaN becomes a quiet NaN. */
uint16_t gpt2_f16_of_float(float value);
uint16_t gpt2_bf16_of_float(float value);

/* Converts `count` elements. The arrays may be unaligned but must not overlap. Returns the number of finite values that became
 * infinite, which in practice happens to weights in F16 alone. */
size_t gpt2_convert(void *out, enum gpt2_type out_type, const void *in, enum gpt2_type in_type, size_t count);

#endif

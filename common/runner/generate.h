/* generate.h — the inputs of timed calls, seeded and counter-based: element i of tensor t of set s depends only on
 * (seed, s, t, i). The device fills its tensors with them, and the parent regenerates the rows that it checks.
 *
 * (N, C) and (B, H, T, T) tensors: a triangular distribution on (-2, 2); (C) and (N) tensors (means and reciprocal
 * deviations): on [0.5, 1.5). All values are multiples of 2^-22, so that host and device agree to the last bit, and
 * then rounded to the tensor's type, to nearest even.
 */
#ifndef GENERATE_H
#define GENERATE_H

#include <stdint.h>

#include "../ops/ops.h"

#ifdef __CUDACC__
#define GENERATE_FUNCTION static __host__ __device__ inline
#else
#define GENERATE_FUNCTION static inline
#endif

/* splitmix64's finaliser (Steele, Lea, Flood 2014). */
GENERATE_FUNCTION uint64_t generate_mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

GENERATE_FUNCTION uint64_t generate_key(uint64_t seed, int set, int tensor) {
    return generate_mix(seed + 0x9e3779b97f4a7c15u * (uint64_t)(set * OP_MAX_TENSORS + tensor + 1));
}

GENERATE_FUNCTION float generate_float(uint64_t key, bool has_rows, uint64_t i) {
    uint64_t bits = generate_mix(key + 0x9e3779b97f4a7c15u * (i + 1));
    float a = (float)(uint32_t)(bits >> 42) * 0x1p-21f; /* 22 bits: [0, 2) */
    float b = (float)(uint32_t)(bits & 0x3fffff) * 0x1p-21f;
    return has_rows ? a - b : 0.5f + 0.5f * a;
}

/* The poison of outputs before a timed batch: a NaN whose bits depend on the element. Accumulated outputs start at 0.
 * The upper half of the poison is a NaN in both 16-bit types. */
GENERATE_FUNCTION uint32_t generate_poison(uint64_t key, uint64_t i) {
    return 0x7fc00000u | (uint32_t)(generate_mix(key ^ i) & 0x3fffff);
}

#endif

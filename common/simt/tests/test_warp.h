/* test_warp.h — warp intrinsics in kernels: each run fills one row of 32 lanes. */
#ifndef SIMT_TEST_WARP_H
#define SIMT_TEST_WARP_H

#include <stdint.h>

enum { LANES = 32 };
enum { SHUFFLE_TO, SHUFFLE_BY_UP, SHUFFLE_BY_DOWN, SHUFFLE_BY_XOR, SHUFFLE_MODES };
enum {
    TYPE_int,
    TYPE_unsigned,
    TYPE_long,
    TYPE_unsigned_long,
    TYPE_long_long,
    TYPE_unsigned_long_long,
    TYPE_float,
    TYPE_double,
    TYPE_half,
    TYPE_half2,
    TYPE_bfloat16,
    TYPE_bfloat162,
    SHUFFLE_TYPES
};
enum {
    VOTE_any,
    VOTE_all,
    VOTE_ballot,
    VOTE_uni,
    VOTE_activemask,
    VOTE_match_any,
    VOTE_match_any_wide,
    VOTE_match_all,
    VOTE_match_all_predicate,
    VOTE_match_float,
    VOTES
};
enum {
    REDUCE_add,
    REDUCE_uadd,
    REDUCE_min,
    REDUCE_umin,
    REDUCE_max,
    REDUCE_umax,
    REDUCE_and,
    REDUCE_or,
    REDUCE_xor,
    REDUCTIONS
};

#ifdef __cplusplus
extern "C" {
#endif
/* Lane i has values[i] and takes part when bit i of mask is set; bits of the result, in the type's size. */
int run_shuffle(int type, int mode, uint32_t mask, int width, int operand, uint64_t *out, const uint64_t *values);
int run_vote(int vote, uint32_t mask, uint32_t *out, const uint32_t *values);
int run_reduction(int reduction, uint32_t mask, uint32_t *out, const uint32_t *values);
#ifdef __cplusplus
}
#endif
#endif

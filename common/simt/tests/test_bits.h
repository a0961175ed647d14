/* test_bits.h — the integer intrinsics that test_bits.cu evaluates and test_bits.c defines. */
#ifndef SIMT_TEST_BITS_H
#define SIMT_TEST_BITS_H

#include <stdint.h>

/* clang-format off */
#define BITS_CASES(X)                                                                                           \
    X(popc) X(popcll) X(clz) X(clzll) X(ffs) X(ffsll) X(brev) X(brevll) X(byte_perm) X(funnelshift_l)           \
    X(funnelshift_r) X(funnelshift_lc) X(funnelshift_rc) X(mulhi) X(umulhi) X(mul64hi) X(umul64hi) X(mul24)     \
    X(umul24) X(sad) X(usad) X(hadd) X(rhadd) X(uhadd) X(urhadd) X(fns) X(dp4a_s) X(dp4a_u) X(dp2a_lo_s)        \
    X(dp2a_hi_s) X(dp2a_lo_u) X(dp2a_hi_u) X(dp4a_c4) X(dp4a_u4) X(dp2a_lo_s2) X(dp2a_hi_u2) X(vadd4) X(vadd2) X(vsub4) X(vaddss4) X(vaddus4) X(vsubss2)          \
    X(vsubus4) X(vmaxs4) X(vmaxu4) X(vmins2) X(vabsdiffu4) X(vavgu4) X(vcmpeq4) X(vcmpgtu4) X(vcmplts2)         \
    X(vseteq4) X(vabs4) X(vneg2) X(vabsss4)
/* clang-format on */

enum bits_case {
#define BITS_NAME(name) BITS_##name,
    BITS_CASES(BITS_NAME)
#undef BITS_NAME
        BITS_CASE_COUNT
};

#ifdef __cplusplus
extern "C" {
#endif

/* results[case * count + i] of the arguments a[i], b[i], c[i]; 64-bit cases take b:a, a:c. Returns a cudaError_t. */
int run_bits(uint64_t *results, const uint32_t *a, const uint32_t *b, const uint32_t *c, int count);

#ifdef __cplusplus
}
#endif

#endif

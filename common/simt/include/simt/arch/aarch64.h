/* aarch64.h — 64-bit ARM: selections of a number without a branch. See ../math_inline.h. */
#ifndef SIMT_ARCH_SELECT_H
#define SIMT_ARCH_SELECT_H

#include "../boundary.h"

namespace simt {

/* `a` where the condition, gt or mi (less), holds between a and b: never for a NaN. Otherwise b. */
#define SIMT_SELECT(result, a, b, condition) \
    __asm__("fcmp %s1, %s2\n\tfcsel %s0, %s1, %s2, " condition : "=w"(result) : "w"(a), "w"(b) : "cc")

SIMT_INLINE float limited(float x, float least, float most) {
    SIMT_SELECT(x, most, x, "mi");
    SIMT_SELECT(x, least, x, "gt");
    return x;
}

/* `number` where b is a NaN, otherwise `result`. */
SIMT_INLINE float unless_nan(float b, float result, float number) {
    __asm__("fcmp %s1, %s1\n\tfcsel %s0, %s2, %s3, vs" : "=w"(result) : "w"(b), "w"(number), "w"(result) : "cc");
    return result;
}

SIMT_INLINE float larger(float a, float b) {
    float result;
    SIMT_SELECT(result, a, b, "gt");
    return unless_nan(b, result, a);
}
SIMT_INLINE float smaller(float a, float b) {
    float result;
    SIMT_SELECT(result, a, b, "mi");
    return unless_nan(b, result, a);
}

#undef SIMT_SELECT

} // namespace simt

#endif

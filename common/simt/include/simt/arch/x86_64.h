/* x86_64.h — x86-64: selections of a number without a branch. See ../math_inline.h. */
#ifndef SIMT_ARCH_SELECT_H
#define SIMT_ARCH_SELECT_H

#include "../boundary.h"

namespace simt {

/* minss and maxss return the second operand if either is a NaN, or if both are zeros. */
SIMT_INLINE float limited(float x, float least, float most) {
    __asm__("minss %1, %0" : "=x"(x) : "x"(x), "0"(most));
    __asm__("maxss %1, %0" : "=x"(x) : "x"(x), "0"(least));
    return x;
}

/* The first number where the mask's bits are set, otherwise the second. */
SIMT_INLINE float selected(float mask, float set, float clear) {
    __asm__("andps %1, %0" : "+x"(set) : "x"(mask));
    __asm__("andnps %1, %0" : "+x"(mask) : "x"(clear));
    __asm__("orps %1, %0" : "+x"(set) : "x"(mask));
    return set;
}

SIMT_INLINE float larger(float a, float b) {
    float result = a, unordered = b;
    __asm__("maxss %1, %0" : "+x"(result) : "x"(b));
    __asm__("cmpunordss %0, %0" : "+x"(unordered));
    return selected(unordered, a, result);
}
SIMT_INLINE float smaller(float a, float b) {
    float result = a, unordered = b;
    __asm__("minss %1, %0" : "+x"(result) : "x"(b));
    __asm__("cmpunordss %0, %0" : "+x"(unordered));
    return selected(unordered, a, result);
}

} // namespace simt

#endif

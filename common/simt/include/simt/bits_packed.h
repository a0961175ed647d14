/* bits_packed.h — arithmetic on the four bytes or two halves of a word, and dot products of them. */
#ifndef SIMT_BITS_PACKED_H
#define SIMT_BITS_PACKED_H

#include "boundary.h"

namespace simt {

/* Part i of the word as a Lane, widened. */
template <class Lane> SIMT_INLINE int lane(unsigned word, int i) {
    return static_cast<Lane>(word >> 8 * sizeof(Lane) * i);
}

/* `part(a, b)` on every pair of lanes. */
template <class Lane, class Part> SIMT_INLINE unsigned packed(unsigned a, unsigned b, Part part) {
    unsigned result = 0;
    for (unsigned i = 0; i < 4 / sizeof(Lane); i++) {
        unsigned value = static_cast<unsigned>(part(lane<Lane>(a, i), lane<Lane>(b, i)));
        result |= (value & ((1u << 8 * sizeof(Lane)) - 1)) << 8 * sizeof(Lane) * i;
    }
    return result;
}

SIMT_INLINE int clamp(int x, int low, int high) {
    return x < low ? low : x > high ? high : x;
}

} // namespace simt

#define SIMT_PACKED(name, Lane, expression)                                                \
    SIMT_INLINE unsigned name(unsigned a, unsigned b) {                                    \
        return simt::packed<Lane>(                                                         \
            a, b, [](int x, int y) __attribute__((always_inline)) { return expression; }); \
    }
#define SIMT_PACKED_ONE(name, Lane, expression)                                          \
    SIMT_INLINE unsigned name(unsigned a) {                                              \
        return simt::packed<Lane>(                                                       \
            a, 0, [](int x, int) __attribute__((always_inline)) { return expression; }); \
    }

#define SIMT_PACKED_BOTH(suffix, Signed, Unsigned, low, high, top)                  \
    SIMT_PACKED(__vadd##suffix, Unsigned, x + y)                                    \
    SIMT_PACKED(__vsub##suffix, Unsigned, x - y)                                    \
    SIMT_PACKED(__vaddss##suffix, Signed, simt::clamp(x + y, low, high))            \
    SIMT_PACKED(__vsubss##suffix, Signed, simt::clamp(x - y, low, high))            \
    SIMT_PACKED(__vaddus##suffix, Unsigned, simt::clamp(x + y, 0, top))             \
    SIMT_PACKED(__vsubus##suffix, Unsigned, simt::clamp(x - y, 0, top))             \
    SIMT_PACKED(__vmaxs##suffix, Signed, x > y ? x : y)                             \
    SIMT_PACKED(__vmaxu##suffix, Unsigned, x > y ? x : y)                           \
    SIMT_PACKED(__vmins##suffix, Signed, x < y ? x : y)                             \
    SIMT_PACKED(__vminu##suffix, Unsigned, x < y ? x : y)                           \
    SIMT_PACKED(__vabsdiffs##suffix, Signed, x > y ? x - y : y - x)                 \
    SIMT_PACKED(__vabsdiffu##suffix, Unsigned, x > y ? x - y : y - x)               \
    SIMT_PACKED(__vavgu##suffix, Unsigned, (x + y + 1) >> 1)                        \
    SIMT_PACKED(__vhaddu##suffix, Unsigned, (x + y) >> 1)                           \
    SIMT_PACKED(__vcmpeq##suffix, Unsigned, x == y ? -1 : 0)                        \
    SIMT_PACKED(__vcmpne##suffix, Unsigned, x != y ? -1 : 0)                        \
    SIMT_PACKED(__vcmpges##suffix, Signed, x >= y ? -1 : 0)                         \
    SIMT_PACKED(__vcmpgeu##suffix, Unsigned, x >= y ? -1 : 0)                       \
    SIMT_PACKED(__vcmpgts##suffix, Signed, x > y ? -1 : 0)                          \
    SIMT_PACKED(__vcmpgtu##suffix, Unsigned, x > y ? -1 : 0)                        \
    SIMT_PACKED(__vcmples##suffix, Signed, x <= y ? -1 : 0)                         \
    SIMT_PACKED(__vcmpleu##suffix, Unsigned, x <= y ? -1 : 0)                       \
    SIMT_PACKED(__vcmplts##suffix, Signed, x < y ? -1 : 0)                          \
    SIMT_PACKED(__vcmpltu##suffix, Unsigned, x < y ? -1 : 0)                        \
    SIMT_PACKED(__vseteq##suffix, Unsigned, x == y)                                 \
    SIMT_PACKED(__vsetne##suffix, Unsigned, x != y)                                 \
    SIMT_PACKED_ONE(__vabs##suffix, Signed, x < 0 ? -x : x)                         \
    SIMT_PACKED_ONE(__vabsss##suffix, Signed, simt::clamp(x < 0 ? -x : x, 0, high)) \
    SIMT_PACKED_ONE(__vneg##suffix, Signed, -x)                                     \
    SIMT_PACKED_ONE(__vnegss##suffix, Signed, simt::clamp(-x, low, high))

SIMT_PACKED_BOTH(4, int8_t, uint8_t, -128, 127, 255)
SIMT_PACKED_BOTH(2, int16_t, uint16_t, -32768, 32767, 65535)
#undef SIMT_PACKED_BOTH
#undef SIMT_PACKED_ONE
#undef SIMT_PACKED

/* Four-way byte dot products, added to c. */
SIMT_INLINE int __dp4a(int a, int b, int c) {
    unsigned sum = static_cast<unsigned>(c);
    for (int i = 0; i < 4; i++) { sum += static_cast<unsigned>(simt::lane<int8_t>(a, i) * simt::lane<int8_t>(b, i)); }
    return static_cast<int>(sum);
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) { c += static_cast<unsigned>(simt::lane<uint8_t>(a, i) * simt::lane<uint8_t>(b, i)); }
    return c;
}

/* Two halves of a with the low (lo) or high (hi) two bytes of b. */
SIMT_INLINE int __dp2a_lo(int a, int b, int c) {
    return static_cast<int>(static_cast<unsigned>(c) +
                            static_cast<unsigned>(simt::lane<int16_t>(a, 0) * simt::lane<int8_t>(b, 0)) +
                            static_cast<unsigned>(simt::lane<int16_t>(a, 1) * simt::lane<int8_t>(b, 1)));
}
SIMT_INLINE int __dp2a_hi(int a, int b, int c) {
    return __dp2a_lo(a, static_cast<int>(static_cast<unsigned>(b) >> 16), c);
}
SIMT_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
SIMT_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return __dp2a_lo(a, b >> 16, c);
}

#endif

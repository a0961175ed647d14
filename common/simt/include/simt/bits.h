/* bits.h — integer intrinsics: counting, permuting, shifting, multiplying, packed bytes and halves. */
#ifndef SIMT_BITS_H
#define SIMT_BITS_H

#include "boundary.h"

SIMT_INLINE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
SIMT_INLINE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
SIMT_INLINE int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
SIMT_INLINE int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
SIMT_INLINE int __ffs(int x) {
    return __builtin_ffs(x);
}
SIMT_INLINE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}

SIMT_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}

/* Byte i of the result is byte (selector nibble i, low 3 bits) of y:x; bit 3 of the nibble replicates its sign. */
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned nibble = selector >> 4 * i & 0xf;
        unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7)) & 0xff;
        if (nibble & 8) { byte = byte & 0x80 ? 0xff : 0; }
        result |= byte << 8 * i;
    }
    return result;
}

/* The high (left) or low (right) word of hi:lo shifted by shift mod 32, or by at most 32 (the _c forms). */
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>((both << (shift & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both >> (shift & 31));
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

SIMT_INLINE int __mulhi(int x, int y) {
    return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
__extension__ typedef __int128 simt_int128;
__extension__ typedef unsigned __int128 simt_uint128;

SIMT_INLINE long long __mul64hi(long long x, long long y) {
    return static_cast<long long>(static_cast<simt_int128>(x) * y >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<simt_uint128>(x) * y >> 64);
}

/* The low 32 bits of the product of the low 24 bits. */
SIMT_INLINE int __mul24(int x, int y) {
    unsigned a = static_cast<unsigned>(x) << 8, b = static_cast<unsigned>(y) << 8;
    return static_cast<int>(
        static_cast<unsigned>((static_cast<int>(a) >> 8) * static_cast<long long>(static_cast<int>(b) >> 8)));
}
SIMT_INLINE unsigned __umul24(unsigned x, unsigned y) {
    return (x & 0xffffffu) * (y & 0xffffffu);
}
SIMT_INLINE int mul24(int x, int y) {
    return __mul24(x, y);
}
SIMT_INLINE unsigned umul24(unsigned x, unsigned y) {
    return __umul24(x, y);
}
SIMT_INLINE int mulhi(int x, int y) {
    return __mulhi(x, y);
}
SIMT_INLINE unsigned umulhi(unsigned x, unsigned y) {
    return __umulhi(x, y);
}

/* |x - y| + z */
SIMT_INLINE unsigned __sad(int x, int y, unsigned z) {
    return (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                  : static_cast<unsigned>(y) - static_cast<unsigned>(x)) +
           z;
}
SIMT_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z) {
    return (x > y ? x - y : y - x) + z;
}

/* Averages without overflow: rounded down (hadd) and up (rhadd). */
SIMT_INLINE int __hadd(int x, int y) {
    return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
SIMT_INLINE int __rhadd(int x, int y) {
    return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
SIMT_INLINE unsigned __uhadd(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
SIMT_INLINE unsigned __urhadd(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

/* The position of the |offset|-th set bit at or above (offset > 0) or below (offset < 0) bit `base`; 0xffffffff if none. */
SIMT_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    if (left == 0) { return base < 32 && (mask >> base & 1) ? base : 0xffffffffu; }
    for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
        if ((mask >> bit & 1) && --left == 0) { return static_cast<unsigned>(bit); }
    }
    return 0xffffffffu;
}

/* ---- arithmetic on the four bytes or two halves of a word, and dot products of them ---- */

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

/* The same of vectors. */
namespace simt {
template <class To, class From> SIMT_INLINE To packed(From from) {
    static_assert(sizeof(To) == sizeof from, "packed");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
} // namespace simt
#define SIMT_DOT(name, A, B, Word)                                    \
    SIMT_INLINE Word name(A a, B b, Word c) {                         \
        return name(simt::packed<Word>(a), simt::packed<Word>(b), c); \
    }
SIMT_DOT(__dp4a, char4, char4, int)
SIMT_DOT(__dp4a, uchar4, uchar4, unsigned)
SIMT_DOT(__dp2a_lo, short2, char4, int)
SIMT_DOT(__dp2a_hi, short2, char4, int)
SIMT_DOT(__dp2a_lo, ushort2, uchar4, unsigned)
SIMT_DOT(__dp2a_hi, ushort2, uchar4, unsigned)
#undef SIMT_DOT

#endif

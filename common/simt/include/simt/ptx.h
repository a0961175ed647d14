/* ptx.h — the instructions of inline PTX that the backend models: translate/ptx.c writes calls of these functions.
 *
 * Registers are unsigned words of their size, as "h", "r" or "f", and "l" or "d" declare them. First function takes registers,
 * interprets them as the types of the instruction and returns what goes into the target register. Everything is inlined,
 * so a load or store is an access of the learner's own line. Approximate functions (ex2.approx, …) are the host's.
 */
#ifndef SIMT_PTX_H
#define SIMT_PTX_H

#include <type_traits>

#include "async_copy.h"
#include "atomic.h"
#include "bits.h"
#include "boundary.h"
#include "builtin.h"
#include "cache.h"
#include "clock.h"
#include "convert.h"
#include "math.h"
#include "matrix_calls.h"
#include "minifloat.h"
#include "sync.h"
#include "warp.h"

extern "C" {
void *simt_shared_at(uint64_t address) noexcept; /* api/ptx.c */
void simt_exit(void) __attribute__((noreturn));
void simt_whole_block(unsigned threads) noexcept;
}

namespace simt {
namespace ptx {

SIMT_INLINE uint32_t thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
SIMT_INLINE uint32_t laneid() {
    return thread_rank() % 32;
}

/* ---- operands ---- */

struct f16 {};
struct bf16 {};
struct f16x2 {};
struct bf16x2 {};
struct tf32 {};

template <class T> struct is_small { static constexpr bool value = false, pair = false; };
template <> struct is_small<f16> { static constexpr bool value = true, pair = false; };
template <> struct is_small<bf16> { static constexpr bool value = true, pair = false; };
template <> struct is_small<f16x2> { static constexpr bool value = true, pair = true; };
template <> struct is_small<bf16x2> { static constexpr bool value = true, pair = true; };
template <class T> struct is_float { static constexpr bool value = false; };
template <> struct is_float<float> { static constexpr bool value = true; };
template <> struct is_float<double> { static constexpr bool value = true; };
template <class T, class U> struct is_same { static constexpr bool value = false; };
template <class T> struct is_same<T, T> { static constexpr bool value = true; };
template <class T> static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);

/* The C++ value of an operand. nvcc has the same rule of sizes. */
template <class Register, class T> SIMT_INLINE Register input(T value) {
    static_assert(sizeof(Register) == sizeof(T), "asm: the operand's size does not match its constraint: "
                                                 "\"h\" has 2 bytes, \"r\" and \"f\" have 4, \"l\" and \"d\" have 8");
    return __builtin_bit_cast(Register, value);
}
template <class Register, class T> SIMT_INLINE void output(T &target, Register value) {
    static_assert(sizeof(Register) == sizeof(T), "asm: the operand's size does not match its constraint: "
                                                 "\"h\" has 2 bytes, \"r\" and \"f\" have 4, \"l\" and \"d\" have 8");
    target = __builtin_bit_cast(T, value);
}

template <class T, class Register> SIMT_INLINE T as(Register value) {
    return __builtin_bit_cast(T, static_cast<typename bits_of<sizeof(T)>::type>(value));
}
/* Integers keep their sign, to be extended; floating point becomes bits. */
template <class T> SIMT_INLINE auto to_register(T value) {
    if constexpr (is_float<T>::value) {
        return __builtin_bit_cast(typename bits_of<sizeof(T)>::type, value);
    } else {
        return value;
    }
}
/* A literal such as 2.0. */
template <class T> SIMT_INLINE auto real(double value) {
    return to_register(static_cast<T>(value));
}

/* ---- modifiers ---- */

enum : unsigned {
    rn = 0,
    rni = 0,
    rz = 1,
    rzi = 1,
    rm = 2,
    rmi = 2,
    rp = 4,
    rpi = 4,
    rounding = 7,
    ftz = 8,
    sat = 16,
    approx = 32,
    full = 32,
    hi = 64,
    lo = 128,
    wide = 256,
    NaN = 512,
    relu = 1024,
    rna = 2048,
    left = 4096,
    right = 8192,
    wrap = 0,
    clamp = 16384,
    satfinite = 0,
};

template <unsigned Flags> SIMT_INLINE float flush(float x) {
    return Flags & ftz && __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}
template <unsigned Flags> SIMT_INLINE double flush(double x) {
    return x;
}
template <unsigned Flags, class T> SIMT_INLINE T finish(T x) {
    x = flush<Flags>(x);
    if constexpr ((Flags & sat) != 0) { return !(x > T(0)) ? T(0) : x > T(1) ? T(1) : x; }
    return x;
}

/* ---- arithmetic of one type. Small floats: on their bits; pairs: twice ---- */

template <class T> struct small;
template <> struct small<f16> {
    static SIMT_MEMBER float value(uint16_t a) { return simt_half_to_float(a); }
    static SIMT_MEMBER uint16_t round(double a) { return simt_half_of_double(a, SIMT_ROUND_NEAREST); }
    static SIMT_MEMBER uint16_t add(uint16_t a, uint16_t b) { return simt_half_add(a, b); }
    static SIMT_MEMBER uint16_t sub(uint16_t a, uint16_t b) { return simt_half_sub(a, b); }
    static SIMT_MEMBER uint16_t mul(uint16_t a, uint16_t b) { return simt_half_mul(a, b); }
    static SIMT_MEMBER uint16_t min(uint16_t a, uint16_t b) { return simt_half_min(a, b); }
    static SIMT_MEMBER uint16_t max(uint16_t a, uint16_t b) { return simt_half_max(a, b); }
    static SIMT_MEMBER uint16_t fma(uint16_t a, uint16_t b, uint16_t c) { return simt_half_fma(a, b, c); }
};
template <> struct small<bf16> {
    static SIMT_MEMBER float value(uint16_t a) { return simt_bfloat_to_float(a); }
    static SIMT_MEMBER uint16_t round(double a) { return simt_bfloat_of_double(a, SIMT_ROUND_NEAREST); }
    static SIMT_MEMBER uint16_t add(uint16_t a, uint16_t b) { return simt_bfloat_add(a, b); }
    static SIMT_MEMBER uint16_t sub(uint16_t a, uint16_t b) { return simt_bfloat_sub(a, b); }
    static SIMT_MEMBER uint16_t mul(uint16_t a, uint16_t b) { return simt_bfloat_mul(a, b); }
    static SIMT_MEMBER uint16_t min(uint16_t a, uint16_t b) { return simt_bfloat_min(a, b); }
    static SIMT_MEMBER uint16_t max(uint16_t a, uint16_t b) { return simt_bfloat_max(a, b); }
    static SIMT_MEMBER uint16_t fma(uint16_t a, uint16_t b, uint16_t c) { return simt_bfloat_fma(a, b, c); }
};
template <> struct small<f16x2> : small<f16> {};
template <> struct small<bf16x2> : small<bf16> {};

SIMT_INLINE uint16_t low_half(uint64_t a) {
    return static_cast<uint16_t>(a);
}
SIMT_INLINE uint16_t high_half(uint64_t a) {
    return static_cast<uint16_t>(a >> 16);
}
SIMT_INLINE uint32_t both_halves(uint16_t low, uint16_t high) {
    return low | static_cast<uint32_t>(high) << 16;
}

#define SIMT_PTX_BINARY(name, integer, of_float)                                                                      \
    template <class T, unsigned Flags, class First, class Second> SIMT_INLINE auto name(First x, Second y) {          \
        if constexpr (is_small<T>::pair) {                                                                            \
            return both_halves(small<T>::name(low_half(x), low_half(y)), small<T>::name(high_half(x), high_half(y))); \
        } else if constexpr (is_small<T>::value) {                                                                    \
            return small<T>::name(low_half(x), low_half(y));                                                          \
        } else if constexpr (is_float<T>::value) {                                                                    \
            T a = flush<Flags>(as<T>(x)), b = flush<Flags>(as<T>(y));                                                 \
            return to_register(finish<Flags>(static_cast<T>(of_float)));                                              \
        } else {                                                                                                      \
            T a = as<T>(x), b = as<T>(y);                                                                             \
            return static_cast<T>(integer);                                                                           \
        }                                                                                                             \
    }

#define SIMT_PTX_ROUNDED(name)                                                        \
    template <unsigned Flags> SIMT_INLINE float name##_rounded(float a, float b) {    \
        return Flags & rz   ? __f##name##_rz(a, b)                                    \
               : Flags & rm ? __f##name##_rd(a, b)                                    \
               : Flags & rp ? __f##name##_ru(a, b)                                    \
                            : __f##name##_rn(a, b);                                   \
    }                                                                                 \
    template <unsigned Flags> SIMT_INLINE double name##_rounded(double a, double b) { \
        return Flags & rz   ? __d##name##_rz(a, b)                                    \
               : Flags & rm ? __d##name##_rd(a, b)                                    \
               : Flags & rp ? __d##name##_ru(a, b)                                    \
                            : __d##name##_rn(a, b);                                   \
    }
SIMT_PTX_ROUNDED(add)
SIMT_PTX_ROUNDED(sub)
SIMT_PTX_ROUNDED(mul)
SIMT_PTX_ROUNDED(div)
#undef SIMT_PTX_ROUNDED
template <unsigned Flags> SIMT_INLINE float fma_rounded(float a, float b, float c) {
    return Flags & rz   ? __fmaf_rz(a, b, c)
           : Flags & rm ? __fmaf_rd(a, b, c)
           : Flags & rp ? __fmaf_ru(a, b, c)
                        : __fmaf_rn(a, b, c);
}
template <unsigned Flags> SIMT_INLINE double fma_rounded(double a, double b, double c) {
    return Flags & rz   ? __fma_rz(a, b, c)
           : Flags & rm ? __fma_rd(a, b, c)
           : Flags & rp ? __fma_ru(a, b, c)
                        : __fma_rn(a, b, c);
}

/* NaN: the operand that is a number, unless .NaN; -0 is less than +0. */
template <unsigned Flags, class T> SIMT_INLINE T smaller_of(T a, T b) {
    if (a != a || b != b) {
        return Flags & NaN || (a != a && b != b) ? static_cast<T>(__builtin_nan("")) : a != a ? b : a;
    }
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
template <unsigned Flags, class T> SIMT_INLINE T larger_of(T a, T b) {
    return -smaller_of<Flags, T>(-a, -b);
}

/* Integers wrap around: in unsigned arithmetic. */
template <class T> SIMT_INLINE unsigned long long wrapping(T a) {
    return static_cast<unsigned long long>(a);
}

SIMT_PTX_BINARY(add, wrapping(a) + wrapping(b), add_rounded<Flags>(a, b))
SIMT_PTX_BINARY(sub, wrapping(a) - wrapping(b), sub_rounded<Flags>(a, b))
SIMT_PTX_BINARY(min, a < b ? a : b, (smaller_of<Flags, T>(a, b)))
SIMT_PTX_BINARY(max, a > b ? a : b, (larger_of<Flags, T>(a, b)))
#undef SIMT_PTX_BINARY

template <class T> struct twice_as_wide;
template <> struct twice_as_wide<uint16_t> { typedef uint32_t type; };
template <> struct twice_as_wide<int16_t> { typedef int32_t type; };
template <> struct twice_as_wide<uint32_t> { typedef uint64_t type; };
template <> struct twice_as_wide<int32_t> { typedef int64_t type; };
template <> struct twice_as_wide<uint64_t> { typedef unsigned __int128 type; };
template <> struct twice_as_wide<int64_t> { typedef __int128 type; };

template <class T, unsigned Flags, class First, class Second> SIMT_INLINE auto mul(First x, Second y) {
    if constexpr (is_small<T>::pair) {
        return both_halves(small<T>::mul(low_half(x), low_half(y)), small<T>::mul(high_half(x), high_half(y)));
    } else if constexpr (is_small<T>::value) {
        return small<T>::mul(low_half(x), low_half(y));
    } else if constexpr (is_float<T>::value) {
        return to_register(finish<Flags>(mul_rounded<Flags>(flush<Flags>(as<T>(x)), flush<Flags>(as<T>(y)))));
    } else {
        typedef typename twice_as_wide<T>::type Wide;
        Wide product = static_cast<Wide>(static_cast<Wide>(as<T>(x)) * as<T>(y));
        if constexpr ((Flags & wide) != 0) {
            return product;
        } else {
            return static_cast<T>(Flags & hi ? product >> 8 * sizeof(T) : product);
        }
    }
}

template <class T, unsigned Flags, class First, class Second, class Third>
SIMT_INLINE auto fma(First x, Second y, Third z) {
    if constexpr (is_small<T>::pair) {
        return both_halves(small<T>::fma(low_half(x), low_half(y), low_half(z)),
                           small<T>::fma(high_half(x), high_half(y), high_half(z)));
    } else if constexpr (is_small<T>::value) {
        return small<T>::fma(low_half(x), low_half(y), low_half(z));
    } else {
        return to_register(
            finish<Flags>(fma_rounded<Flags>(flush<Flags>(as<T>(x)), flush<Flags>(as<T>(y)), flush<Flags>(as<T>(z)))));
    }
}
template <class T, unsigned Flags, class First, class Second, class Third>
SIMT_INLINE auto mad(First x, Second y, Third z) {
    if constexpr (is_float<T>::value) {
        return fma<T, Flags>(x, y, z);
    } else {
        auto product = mul<T, Flags>(x, y);
        return static_cast<decltype(product)>(wrapping(product) + wrapping(as<decltype(product)>(z)));
    }
}

template <class T, unsigned Flags, class First, class Second> SIMT_INLINE auto div(First x, Second y) {
    if constexpr (is_float<T>::value) {
        return to_register(finish<Flags>(div_rounded<Flags>(flush<Flags>(as<T>(x)), flush<Flags>(as<T>(y)))));
    } else {
        return static_cast<T>(as<T>(x) / as<T>(y));
    }
}
template <class T, unsigned Flags, class First, class Second> SIMT_INLINE T rem(First x, Second y) {
    return static_cast<T>(as<T>(x) % as<T>(y));
}

#define SIMT_PTX_SIGN(name, mask, integer)                                                                     \
    template <class T, unsigned Flags, class First> SIMT_INLINE auto name(First x) {                           \
        if constexpr (is_small<T>::pair) {                                                                     \
            return static_cast<uint32_t>(x mask 0x80008000u);                                                  \
        } else if constexpr (is_small<T>::value) {                                                             \
            return static_cast<uint16_t>(x mask 0x8000u);                                                      \
        } else if constexpr (is_float<T>::value) {                                                             \
            typedef typename bits_of<sizeof(T)>::type Bits;                                                    \
            return static_cast<Bits>(to_register(flush<Flags>(as<T>(x))) mask Bits(1) << (8 * sizeof(T) - 1)); \
        } else {                                                                                               \
            T a = as<T>(x);                                                                                    \
            return static_cast<T>(integer);                                                                    \
        }                                                                                                      \
    }
SIMT_PTX_SIGN(neg, ^, 0 - wrapping(a))
#undef SIMT_PTX_SIGN
template <class T, unsigned Flags, class First> SIMT_INLINE auto abs(First x) {
    auto negative = neg<T, Flags>(x);
    if constexpr (is_small<T>::pair) {
        return static_cast<uint32_t>(x & 0x7fff7fffu);
    } else if constexpr (is_small<T>::value || is_float<T>::value) {
        return static_cast<decltype(negative)>(negative & ~(decltype(negative)(1) << (8 * sizeof negative - 1)));
    } else {
        return as<T>(x) < 0 ? negative : as<T>(x);
    }
}

#define SIMT_PTX_FUNCTION(name, of_float, of_double)                                 \
    template <class T, unsigned Flags, class First> SIMT_INLINE auto name(First x) { \
        if constexpr (is_small<T>::value) {                                          \
            double a = small<T>::value(low_half(x));                                 \
            uint16_t low = small<T>::round(of_double);                               \
            if constexpr (is_small<T>::pair) {                                       \
                a = small<T>::value(high_half(x));                                   \
                return both_halves(low, small<T>::round(of_double));                 \
            } else {                                                                 \
                return low;                                                          \
            }                                                                        \
        } else if constexpr (sizeof(T) == 4) {                                       \
            float a = flush<Flags>(as<float>(x));                                    \
            return to_register(finish<Flags>(static_cast<float>(of_float)));         \
        } else {                                                                     \
            double a = as<double>(x);                                                \
            return to_register(of_double);                                           \
        }                                                                            \
    }
SIMT_PTX_FUNCTION(sqrt, sqrtf(a), ::sqrt(a))
SIMT_PTX_FUNCTION(rcp, 1.0f / a, 1.0 / a)
SIMT_PTX_FUNCTION(rsqrt, 1.0 / ::sqrt(static_cast<double>(a)), 1.0 / ::sqrt(a))
SIMT_PTX_FUNCTION(ex2, exp2f(a), ::exp2(a))
SIMT_PTX_FUNCTION(lg2, log2f(a), ::log2(a))
SIMT_PTX_FUNCTION(sin, sinf(a), ::sin(a))
SIMT_PTX_FUNCTION(cos, cosf(a), ::cos(a))
SIMT_PTX_FUNCTION(tanh, tanhf(a), ::tanh(a))
#undef SIMT_PTX_FUNCTION

/* ---- bits ---- */

#define SIMT_PTX_LOGIC(name, symbol)                                                                   \
    template <class T, unsigned, class First, class Second> SIMT_INLINE T name##_(First x, Second y) { \
        return static_cast<T>(static_cast<T>(x) symbol static_cast<T>(y));                             \
    }
SIMT_PTX_LOGIC(and, &)
SIMT_PTX_LOGIC(or, |)
SIMT_PTX_LOGIC(xor, ^)
#undef SIMT_PTX_LOGIC
template <class T, unsigned, class First> SIMT_INLINE T not_(First x) {
    if constexpr (is_same<T, bool>::value) {
        return !x;
    } else {
        return static_cast<T>(~static_cast<T>(x));
    }
}
template <class T, unsigned, class First, class Second> SIMT_INLINE T shl(First x, Second count) {
    return static_cast<uint32_t>(count) < 8 * sizeof(T) ? static_cast<T>(wrapping(as<T>(x)) << count) : T(0);
}
template <class T, unsigned, class First, class Second> SIMT_INLINE T shr(First x, Second count) {
    unsigned most = 8 * sizeof(T) - 1;
    if (static_cast<uint32_t>(count) > most) { return is_signed<T> ? static_cast<T>(as<T>(x) >> most) : T(0); }
    return static_cast<T>(as<T>(x) >> count);
}
template <class T, unsigned Flags, class First, class Second, class Third>
SIMT_INLINE uint32_t shf(First low, Second high, Third count) {
    unsigned by = static_cast<uint32_t>(count);
    by = Flags & clamp ? (by < 32 ? by : 32) : by & 31;
    uint64_t both = static_cast<uint32_t>(low) | static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32;
    return static_cast<uint32_t>(Flags & left ? both << by >> 32 : both >> by);
}
template <class T, unsigned, class First> SIMT_INLINE uint32_t popc(First x) {
    return static_cast<uint32_t>(__builtin_popcountll(static_cast<T>(x)));
}
template <class T, unsigned, class First> SIMT_INLINE uint32_t clz(First x) {
    T a = static_cast<T>(x);
    return a == 0 ? 8 * sizeof(T) : static_cast<uint32_t>(__builtin_clzll(a)) - (64 - 8 * sizeof(T));
}
template <class T, unsigned, class First> SIMT_INLINE T brev(First x) {
    if constexpr (sizeof(T) == 4) {
        return __brev(static_cast<uint32_t>(x));
    } else {
        return __brevll(static_cast<uint64_t>(x));
    }
}
/* `length` bits from `start` on; beyond the word: its sign, for signed types. */
template <class T, unsigned, class First, class Second, class Third>
SIMT_INLINE T bfe(First x, Second start, Third length) {
    constexpr unsigned bits = 8 * sizeof(T);
    unsigned from = static_cast<uint32_t>(start) & 255, count = static_cast<uint32_t>(length) & 255;
    if (count == 0) { return 0; }
    T a = shr<T, 0>(x, from);
    unsigned left = count < bits ? bits - count : 0;
    T kept = as<T>(shl<T, 0>(a, left));
    return from + count >= bits ? a : static_cast<T>(kept >> left);
}
template <class T, unsigned, class First, class Second, class Third, class Fourth>
SIMT_INLINE T bfi(First bits, Second into, Third start, Fourth length) {
    unsigned from = static_cast<uint32_t>(start) & 255, count = static_cast<uint32_t>(length) & 255;
    T ones = count < 8 * sizeof(T) ? static_cast<T>((T(1) << count) - 1) : static_cast<T>(~T(0));
    T mask = shl<T, 0>(ones, from);
    return static_cast<T>((static_cast<T>(into) & ~mask) | (shl<T, 0>(static_cast<T>(bits), from) & mask));
}
template <class T, unsigned, class First, class Second, class Third, class Fourth>
SIMT_INLINE uint32_t lop3(First x, Second y, Third z, Fourth table) {
    uint32_t a = static_cast<uint32_t>(x), b = static_cast<uint32_t>(y), c = static_cast<uint32_t>(z), result = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint32_t here = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        result |= static_cast<uint32_t>(table) >> i & 1 ? here : 0;
    }
    return result;
}
template <class T, unsigned, class First, class Second, class Third>
SIMT_INLINE uint32_t prmt(First x, Second y, Third selector) {
    uint64_t both = static_cast<uint32_t>(x) | static_cast<uint64_t>(static_cast<uint32_t>(y)) << 32;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = static_cast<uint32_t>(selector) >> 4 * i & 15;
        uint32_t byte = static_cast<uint32_t>(both >> 8 * (nibble & 7)) & 255;
        result |= (nibble & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return result;
}

/* ---- moves, conversions, comparisons ---- */

template <class T, unsigned, class First> SIMT_INLINE auto mov(First x) {
    return x;
}
template <class T, unsigned, class First, class Second> SIMT_INLINE auto selp(First x, Second y, bool which) {
    typedef typename bits_of<sizeof(T)>::type Bits;
    return which ? static_cast<Bits>(x) : static_cast<Bits>(y);
}
template <class First> SIMT_INLINE uint64_t word_of(unsigned bits, First x) {
    return static_cast<uint64_t>(x) & (bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0));
}
/* mov.b32 r, {h, h}; mov.b64 l, {r, r}; mov.b64 l, {h, h, h, h}: the first in the low bits. */
template <class T, class... First> SIMT_INLINE T packed(First... part) {
    constexpr unsigned bits = 8 * sizeof(T) / sizeof...(First);
    uint64_t result = 0;
    unsigned at = 0;
    ((result |= word_of(bits, part) << at, at += bits), ...);
    return static_cast<T>(result);
}
template <class T, class Word, class... First> SIMT_INLINE void unpacked(Word x, First &...part) {
    constexpr unsigned bits = 8 * sizeof(T) / sizeof...(First);
    unsigned at = 0;
    ((part = static_cast<First>(word_of(bits, static_cast<uint64_t>(x) >> at)), at += bits), ...);
}

template <unsigned Flags> SIMT_INLINE double whole(double x) {
    return Flags & rz ? ::trunc(x) : Flags & rm ? ::floor(x) : Flags & rp ? ::ceil(x) : ::nearbyint(x);
}
template <class To, class From, unsigned Flags, class First> SIMT_INLINE auto cvt(First x) {
    constexpr int rounding_mode = Flags & rz   ? SIMT_ROUND_ZERO
                                  : Flags & rm ? SIMT_ROUND_DOWN
                                  : Flags & rp ? SIMT_ROUND_UP
                                               : SIMT_ROUND_NEAREST;
    if constexpr (is_same<To, tf32>::value) { /* to 10 bits of mantissa, ties away from zero */
        uint32_t bits = static_cast<uint32_t>(x);
        bool finite = (bits & 0x7f800000) != 0x7f800000;
        return Flags & rna ? (finite ? (bits + 0x1000) & 0xffffe000 : bits)
                           : (finite ? (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000 : bits);
    } else if constexpr (is_small<From>::value) {
        float value = small<From>::value(low_half(x));
        if constexpr (is_float<To>::value) {
            return to_register(finish<Flags>(static_cast<To>(value)));
        } else if constexpr (is_small<To>::value) {
            return small<To>::round(Flags & relu && !(value > 0) ? (value != value ? value : 0.0f) : value);
        } else {
            return to_integer<To>(static_cast<float>(whole<Flags>(value)));
        }
    } else if constexpr (is_small<To>::value) {
        double value;
        if constexpr (is_float<From>::value) {
            value = static_cast<double>(as<From>(x));
            if constexpr ((Flags & relu) != 0) { value = value < 0 ? 0 : value; }
            if constexpr ((Flags & sat) != 0) { value = !(value > 0) ? 0 : value > 1 ? 1 : value; }
            return is_same<To, f16>::value ? simt_half_of_double(value, rounding_mode)
                                           : simt_bfloat_of_double(value, rounding_mode);
        } else if constexpr (is_signed<From>) {
            return is_same<To, f16>::value ? simt_half_of_i64(as<From>(x), rounding_mode)
                                           : simt_bfloat_of_i64(as<From>(x), rounding_mode);
        } else {
            return is_same<To, f16>::value ? simt_half_of_u64(as<From>(x), rounding_mode)
                                           : simt_bfloat_of_u64(as<From>(x), rounding_mode);
        }
    } else if constexpr (is_float<From>::value && is_float<To>::value) {
        From value = flush<Flags>(as<From>(x));
        if constexpr (sizeof(To) < sizeof(From)) {
            return to_register(finish<Flags>(simt_float_of_double(value, rounding_mode)));
        } else if constexpr (sizeof(To) == sizeof(From)) { /* cvt.rni.f32.f32: to a whole number */
            return to_register(finish<Flags>(static_cast<To>(Flags & (1u << 31) ? whole<Flags>(value) : value)));
        } else {
            return to_register(finish<Flags>(static_cast<To>(value)));
        }
    } else if constexpr (is_float<From>::value) {
        return to_integer<To>(static_cast<From>(whole<Flags>(flush<Flags>(as<From>(x)))));
    } else if constexpr (is_float<To>::value) {
        if constexpr (sizeof(To) == 4) {
            return to_register(finish<Flags>(is_signed<From> ? simt_float_of_i64(as<From>(x), rounding_mode)
                                                             : simt_float_of_u64(as<From>(x), rounding_mode)));
        } else {
            return to_register(is_signed<From> ? simt_double_of_i64(as<From>(x), rounding_mode)
                                               : simt_double_of_u64(as<From>(x), rounding_mode));
        }
    } else if constexpr ((Flags & sat) != 0) {
        __int128 value = as<From>(x), most = is_signed<To>
                                                 ? static_cast<__int128>((~0ull >> 1) >> (64 - 8 * sizeof(To)))
                                                 : static_cast<__int128>(~0ull >> (64 - 8 * sizeof(To)));
        __int128 least = is_signed<To> ? -most - 1 : 0;
        return static_cast<To>(value < least ? least : value > most ? most : value);
    } else {
        return static_cast<To>(as<From>(x));
    }
}
/* cvt.rn.f16x2.f32 d, a, b: a becomes the upper half. */
template <class To, class From, unsigned Flags, class First, class Second>
SIMT_INLINE uint32_t cvt(First high, Second low) {
    typedef std::conditional_t<is_same<To, f16x2>::value, f16, bf16> One;
    return both_halves(cvt<One, From, Flags>(low), cvt<One, From, Flags>(high));
}

enum comparison { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
template <class T, comparison Third, class First, class Second> SIMT_INLINE bool setp(First x, Second y) {
    if constexpr (is_small<T>::value) {
        return setp<float, Third>(to_register(small<T>::value(low_half(x))), to_register(small<T>::value(low_half(y))));
    } else {
        T a = as<T>(x), b = as<T>(y);
        bool unordered = a != a || b != b;
        switch (Third) {
            case eq: return a == b;
            case ne: return a != b && !unordered;
            case lt: return a < b;
            case le: return a <= b;
            case gt: return a > b;
            case ge: return a >= b;
            case equ: return a == b || unordered;
            case neu: return a != b;
            case ltu: return a < b || unordered;
            case leu: return a <= b || unordered;
            case gtu: return a > b || unordered;
            case geu: return a >= b || unordered;
            case num: return !unordered;
            default: return unordered;
        }
    }
}

/* ---- memory ---- */

SIMT_INLINE void *generic(uint64_t address) {
    return reinterpret_cast<void *>(address);
}
SIMT_INLINE void *shared(uint64_t address) {
    return simt_shared_at(address);
}

template <size_t Bytes> struct word_in_memory;
template <> struct word_in_memory<1> { typedef uint8_t type; };
template <> struct word_in_memory<2> { typedef uint16_t type; };
template <> struct word_in_memory<4> { typedef uint32_t type; };
template <> struct word_in_memory<8> { typedef uint64_t type; };
template <> struct word_in_memory<16> { typedef word16 type; };

template <class T, unsigned Count> struct vector_of { T at[Count]; };

/* A vector is one access. */
template <class T, bool Volatile, class... First> SIMT_INLINE void ld(const void *from, First &...to) {
    typedef typename word_in_memory<sizeof(T) * sizeof...(First)>::type Word;
    Word word;
    if constexpr (Volatile) {
        word = *static_cast<const volatile Word *>(from);
    } else {
        word = *static_cast<const Word *>(from);
    }
    auto parts = __builtin_bit_cast(vector_of<T __attribute__((may_alias)), sizeof...(First)>, word);
    unsigned i = 0;
    ((to = static_cast<First>(to_register(parts.at[i++]))), ...);
}
template <class T, bool Volatile, class... First> SIMT_INLINE void st(void *to, First... from) {
    typedef typename word_in_memory<sizeof(T) * sizeof...(First)>::type Word;
    vector_of<T, sizeof...(First)> parts = {{as<T>(from)...}};
    Word word = __builtin_bit_cast(Word, parts);
    if constexpr (Volatile) {
        *static_cast<volatile Word *>(to) = word;
    } else {
        *static_cast<Word *>(to) = word;
    }
}

/* .cg copies 16 bytes only. */
template <int Global> SIMT_INLINE void copy_async(void *to, const void *from, uint64_t bytes, uint64_t from_bytes) {
    simt_async_copy(to, from, static_cast<unsigned>(bytes), static_cast<unsigned>(from_bytes));
}

/* ---- the warp ---- */

/* c holds the clamp in bits 0-4 and the segment mask in bits 8-12, of which only those of a width are supported. */
template <class First, class Second, class Third, class Mask>
SIMT_INLINE uint32_t shfl(int mode, First value, Second source, Third c, Mask mask) {
    int width = 32 - static_cast<int>(static_cast<uint32_t>(c) >> 8 & 31);
    return shuffle(mode, static_cast<unsigned>(mask), static_cast<uint32_t>(value), static_cast<unsigned>(source),
                   width);
}
template <class Second, class Third> SIMT_INLINE bool shfl_inside(int mode, Second operand, Third c) {
    int width = 32 - static_cast<int>(static_cast<uint32_t>(c) >> 8 & 31);
    int lane = static_cast<int>(laneid()), low = lane & ~(width - 1), by = static_cast<int>(operand) & 31;
    int source = mode == SIMT_SHUFFLE_UP     ? lane - by
                 : mode == SIMT_SHUFFLE_DOWN ? lane + by
                 : mode == SIMT_SHUFFLE_XOR  ? lane ^ by
                                             : low | (by & (width - 1));
    return source >= low && source < low + width;
}
/* Barriers of some of a block's threads are a finding: the engine has barriers of a block. */
SIMT_INLINE void barrier(uint64_t number, uint64_t threads) {
    (void)number;
    simt_whole_block(static_cast<unsigned>(threads));
    __syncthreads();
}
SIMT_INLINE bool elect(uint32_t mask, uint32_t &leader) {
    leader = static_cast<uint32_t>(__builtin_ctz(__ballot_sync(mask, 1)));
    return leader == laneid();
}

/* ---- matrices ---- */

template <int Count, bool Transposed, class... First> SIMT_INLINE void ldmatrix(uint64_t address, First &...to) {
    struct two {
        uint64_t low, high;
    } row = {0, 0};
    if (laneid() < 8 * Count) { row = __builtin_bit_cast(two, *static_cast<const word16 *>(simt_shared_at(address))); }
    simt_registers loaded = simt_load_matrices(Count, Transposed, row.low, row.high);
    uint64_t words[2] = {loaded.r01, loaded.r23};
    unsigned i = 0;
    ((to = static_cast<uint32_t>(words[i / 2] >> i % 2 * 32), i++), ...);
}

SIMT_INLINE uint64_t two_registers(uint64_t first, uint64_t second) {
    return static_cast<uint32_t>(first) | second << 32;
}

template <matrix_type Type, unsigned Depth, bool HalfSums>
SIMT_INLINE simt_registers mma(uint64_t a01, uint64_t a23, uint64_t b01, uint64_t c01, uint64_t c23) {
    constexpr unsigned shape = MATRIX_SHAPE(Type, Depth) | (HalfSums ? MATRIX_HALF_SUMS : 0);
    return simt_multiply_matrices(shape, a01, a23, b01, c01, c23);
}

/* ---- special registers ---- */

SIMT_INLINE uint32_t warpid() {
    return thread_rank() / 32;
}
SIMT_INLINE uint32_t nwarpid() {
    return (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
}
/* The blocks go round the multiprocessors in their order. */
SIMT_INLINE uint32_t nsmid() {
    return 132;
}
SIMT_INLINE uint32_t smid() {
    return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % nsmid();
}
SIMT_INLINE uint64_t clock64_now() {
    return static_cast<uint64_t>(clock64());
}
extern "C" uint64_t simt_nanoseconds(void) noexcept; /* api/ptx.c */
SIMT_INLINE uint32_t lanemask_eq() {
    return 1u << laneid();
}
SIMT_INLINE uint32_t lanemask_lt() {
    return lanemask_eq() - 1;
}
SIMT_INLINE uint32_t lanemask_le() {
    return lanemask_lt() | lanemask_eq();
}
SIMT_INLINE uint32_t lanemask_gt() {
    return ~lanemask_le();
}
SIMT_INLINE uint32_t lanemask_ge() {
    return ~lanemask_lt();
}

} // namespace ptx
} // namespace simt

#endif

/* minifloat_type.h — the class of one small floating-point format and of its pair. No include guard: half.h and
 * bfloat.h include it after they have defined
 *     MINI, MINI_RAW      __half, __half_raw            MINI2, MINI2_RAW   __half2, __half2_raw
 *     MINI_CALL(name)     simt_half_##name
 *
 * They convert from and to every arithmetic type without a cast, and stay trivial to construct, as __shared__ arrays
 * need. The pair is assigned with one 4-byte store.
 */

struct MINI_RAW {
    unsigned short x;
};

struct __attribute__((aligned(4))) MINI2_RAW {
    unsigned short x, y;
};

struct MINI {
    unsigned short __x;

    MINI() = default;
    constexpr MINI(const MINI_RAW &raw) : __x(raw.x) {}
    MINI(float value) : __x(MINI_CALL(of_float)(value)) {}
    MINI(double value) : __x(MINI_CALL(of_double)(value, SIMT_ROUND_NEAREST)) {}
    MINI(short value) : __x(MINI_CALL(of_i64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(unsigned short value) : __x(MINI_CALL(of_u64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(int value) : __x(MINI_CALL(of_i64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(unsigned int value) : __x(MINI_CALL(of_u64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(long value) : __x(MINI_CALL(of_i64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(unsigned long value) : __x(MINI_CALL(of_u64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(long long value) : __x(MINI_CALL(of_i64)(value, SIMT_ROUND_NEAREST)) {}
    MINI(unsigned long long value) : __x(MINI_CALL(of_u64)(value, SIMT_ROUND_NEAREST)) {}

    operator MINI_RAW() const { return MINI_RAW{__x}; }
    operator float() const { return MINI_CALL(to_float)(__x); }
    operator bool() const { return (__x & 0x7fff) != 0; }
    operator char() const { return simt::to_integer<char>(truncf(MINI_CALL(to_float)(__x))); }
    operator signed char() const { return simt::to_integer<signed char>(truncf(MINI_CALL(to_float)(__x))); }
    operator unsigned char() const { return simt::to_integer<unsigned char>(truncf(MINI_CALL(to_float)(__x))); }
    operator short() const { return simt::to_integer<short>(truncf(MINI_CALL(to_float)(__x))); }
    operator unsigned short() const { return simt::to_integer<unsigned short>(truncf(MINI_CALL(to_float)(__x))); }
    operator int() const { return simt::to_integer<int>(truncf(MINI_CALL(to_float)(__x))); }
    operator unsigned int() const { return simt::to_integer<unsigned int>(truncf(MINI_CALL(to_float)(__x))); }
    operator long() const { return simt::to_integer<long>(truncf(MINI_CALL(to_float)(__x))); }
    operator unsigned long() const { return simt::to_integer<unsigned long>(truncf(MINI_CALL(to_float)(__x))); }
    operator long long() const { return simt::to_integer<long long>(truncf(MINI_CALL(to_float)(__x))); }
    operator unsigned long long() const {
        return simt::to_integer<unsigned long long>(truncf(MINI_CALL(to_float)(__x)));
    }

    MINI &operator=(const MINI_RAW &raw) {
        __x = raw.x;
        return *this;
    }
#define MINI_ASSIGN(T)         \
    MINI &operator=(T value) { \
        __x = MINI(value).__x; \
        return *this;          \
    }
    MINI_ASSIGN(float)
    MINI_ASSIGN(double)
    MINI_ASSIGN(short)
    MINI_ASSIGN(unsigned short)
    MINI_ASSIGN(int)
    MINI_ASSIGN(unsigned int)
    MINI_ASSIGN(long long)
    MINI_ASSIGN(unsigned long long)
#undef MINI_ASSIGN
};

struct __attribute__((aligned(4))) MINI2 {
    MINI x, y;

    MINI2() = default;
    MINI2(const MINI2 &) = default;
    constexpr MINI2(const MINI &low, const MINI &high) : x(low), y(high) {}
    MINI2(const MINI2_RAW &raw) {
        x.__x = raw.x;
        y.__x = raw.y;
    }
    operator MINI2_RAW() const { return MINI2_RAW{x.__x, y.__x}; }
    SIMT_ASSIGN(MINI2, word4)
};

static_assert(sizeof(MINI) == 2 && sizeof(MINI2) == 4 && alignof(MINI2) == 4, "as on the GPU");

namespace simt {
template <> struct carrier<MINI2> {
    SIMT_INLINE uint64_t pack(MINI2 value) {
        return static_cast<uint32_t>(value.x.__x) | static_cast<uint32_t>(value.y.__x) << 16;
    }
    SIMT_INLINE MINI2 unpack(uint64_t bits) {
        return MINI2_RAW{static_cast<unsigned short>(bits), static_cast<unsigned short>(bits >> 16)};
    }
};
} // namespace simt

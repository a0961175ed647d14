/* The integer intrinsics against their definitions, bit by bit and byte by byte, on edges and random arguments. */
#include "test_bits.h"
#include "findings.h"

TestSuite(bits, .init = quiet, .timeout = 60);

enum { EDGES = 9, COUNT = EDGES * EDGES * 3 + 500 };

__extension__ typedef unsigned __int128 wide_t;
__extension__ typedef __int128 signed_wide_t;

static int bit(uint64_t x, int i) {
    return (int)(x >> i & 1);
}

static uint64_t count_bits(uint64_t x, int bits) {
    uint64_t n = 0;
    for (int i = 0; i < bits; i++) n += bit(x, i);
    return n;
}

static uint64_t leading_zeros(uint64_t x, int bits) {
    int n = 0;
    while (n < bits && !bit(x, bits - 1 - n)) n++;
    return (uint64_t)n;
}

static uint64_t first_set(uint64_t x, int bits) {
    for (int i = 0; i < bits; i++)
        if (bit(x, i)) return (uint64_t)i + 1;
    return 0;
}

static uint64_t reversed(uint64_t x, int bits) {
    uint64_t r = 0;
    for (int i = 0; i < bits; i++) r |= (uint64_t)bit(x, i) << (bits - 1 - i);
    return r;
}

static uint32_t permuted(uint32_t x, uint32_t y, uint32_t selector) {
    uint8_t bytes[8], r[4];
    memcpy(bytes, &x, 4);
    memcpy(bytes + 4, &y, 4);
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> 4 * i;
        r[i] = s & 8 ? (uint8_t)((int8_t)bytes[s & 7] < 0 ? 255 : 0) : bytes[s & 7];
    }
    memcpy(&x, r, 4);
    return x;
}

static uint32_t funnel(uint32_t low, uint32_t high, unsigned shift, bool left) {
    uint64_t both = (uint64_t)high << 32 | low;
    for (unsigned i = 0; i < shift; i++) both = left ? both << 1 : both >> 1;
    return (uint32_t)(left ? both >> 32 : both);
}

static int64_t low24(uint32_t x) {
    return (int32_t)(x << 8) / 256;
}

static uint32_t nth_set(uint32_t mask, uint32_t base, int offset) {
    if (offset == 0) return bit(mask, (int)base) ? base : ~0u;
    int step = offset > 0 ? 1 : -1;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if (bit(mask, i) && (offset -= step) == 0) return (uint32_t)i;
    return ~0u;
}

static int64_t part(uint32_t x, int i, int bytes, bool is_signed) {
    uint32_t p = x >> 8 * bytes * i & (bytes == 1 ? 0xff : 0xffff);
    int64_t top = bytes == 1 ? 0x80 : 0x8000;
    return is_signed && p >= top ? (int64_t)p - 2 * top : p;
}

static int64_t clamped(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* One part of a packed operation. */
static int64_t packed_part(enum bits_case which, int64_t x, int64_t y) {
    switch (which) {
        case BITS_vadd4:
        case BITS_vadd2: return x + y;
        case BITS_vsub4: return x - y;
        case BITS_vaddss4: return clamped(x + y, -128, 127);
        case BITS_vaddus4: return clamped(x + y, 0, 255);
        case BITS_vsubss2: return clamped(x - y, -32768, 32767);
        case BITS_vsubus4: return clamped(x - y, 0, 255);
        case BITS_vmaxs4:
        case BITS_vmaxu4: return x > y ? x : y;
        case BITS_vmins2: return x < y ? x : y;
        case BITS_vabsdiffu4: return x > y ? x - y : y - x;
        case BITS_vavgu4: return (x + y + 1) / 2;
        case BITS_vcmpeq4: return x == y ? -1 : 0;
        case BITS_vcmpgtu4: return x > y ? -1 : 0;
        case BITS_vcmplts2: return x < y ? -1 : 0;
        case BITS_vseteq4: return x == y;
        case BITS_vabs4: return x < 0 ? -x : x;
        case BITS_vneg2: return -x;
        case BITS_vabsss4: return x == -128 ? 127 : x < 0 ? -x : x;
        default: return 0;
    }
}

static uint32_t packed(enum bits_case which, uint32_t a, uint32_t b, int bytes, bool is_signed) {
    uint32_t result = 0;
    for (int i = 0; i < 4 / bytes; i++) {
        int64_t p = packed_part(which, part(a, i, bytes, is_signed), part(b, i, bytes, is_signed));
        result |= ((uint32_t)p & (bytes == 1 ? 0xff : 0xffff)) << 8 * bytes * i;
    }
    return result;
}

static uint32_t dot(uint32_t a, uint32_t b, uint32_t c, int a_bytes, int b_first, bool is_signed) {
    int64_t sum = c;
    for (int i = 0; i < 4 / a_bytes; i++) sum += part(a, i, a_bytes, is_signed) * part(b, b_first + i, 1, is_signed);
    return (uint32_t)sum;
}

static uint64_t defined(enum bits_case which, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t wide = (uint64_t)b << 32 | a, other = (uint64_t)a << 32 | c;
    int64_t sa = (int32_t)a, sb = (int32_t)b;
    switch (which) {
        case BITS_popc: return count_bits(a, 32);
        case BITS_popcll: return count_bits(wide, 64);
        case BITS_clz: return leading_zeros(a, 32);
        case BITS_clzll: return leading_zeros(wide, 64);
        case BITS_ffs: return first_set(a, 32);
        case BITS_ffsll: return first_set(wide, 64);
        case BITS_brev: return reversed(a, 32);
        case BITS_brevll: return reversed(wide, 64);
        case BITS_byte_perm: return permuted(a, b, c);
        case BITS_funnelshift_l: return funnel(a, b, c % 32, true);
        case BITS_funnelshift_r: return funnel(a, b, c % 32, false);
        case BITS_funnelshift_lc: return funnel(a, b, c < 32 ? c : 32, true);
        case BITS_funnelshift_rc: return funnel(a, b, c < 32 ? c : 32, false);
        case BITS_mulhi: return (uint32_t)((uint64_t)(sa * sb) >> 32);
        case BITS_umulhi: return (uint64_t)a * b >> 32;
        case BITS_mul64hi: return (uint64_t)((signed_wide_t)(int64_t)wide * (int64_t)other >> 64);
        case BITS_umul64hi: return (uint64_t)((wide_t)wide * other >> 64);
        case BITS_mul24: return (uint32_t)(low24(a) * low24(b));
        case BITS_umul24: return (uint32_t)((uint64_t)(a % (1 << 24)) * (b % (1 << 24)));
        case BITS_sad: return (uint32_t)((sa > sb ? sa - sb : sb - sa) + c);
        case BITS_usad: return (uint32_t)((a > b ? a - b : b - a) + c);
        case BITS_hadd: return (uint32_t)((sa + sb - (((sa + sb) % 2 + 2) % 2)) / 2);
        case BITS_rhadd: return (uint32_t)((sa + sb + (((sa + sb) % 2 + 2) % 2)) / 2);
        case BITS_uhadd: return ((uint64_t)a + b) / 2;
        case BITS_urhadd: return ((uint64_t)a + b + 1) / 2;
        case BITS_fns: return nth_set(a, b & 31, (int)(c % 9) - 4);
        case BITS_dp4a_s: return dot(a, b, c, 1, 0, true);
        case BITS_dp4a_u: return dot(a, b, c, 1, 0, false);
        case BITS_dp2a_lo_s: return dot(a, b, c, 2, 0, true);
        case BITS_dp2a_hi_s: return dot(a, b, c, 2, 2, true);
        case BITS_dp2a_lo_u: return dot(a, b, c, 2, 0, false);
        case BITS_dp2a_hi_u: return dot(a, b, c, 2, 2, false);
        case BITS_dp4a_c4: return dot(a, b, c, 1, 0, true);
        case BITS_dp4a_u4: return dot(a, b, c, 1, 0, false);
        case BITS_dp2a_lo_s2: return dot(a, b, c, 2, 0, true);
        case BITS_dp2a_hi_u2: return dot(a, b, c, 2, 2, false);
        case BITS_vadd2: return packed(which, a, b, 2, false);
        case BITS_vsubss2:
        case BITS_vmins2:
        case BITS_vcmplts2:
        case BITS_vneg2: return packed(which, a, b, 2, true);
        case BITS_vaddss4:
        case BITS_vmaxs4:
        case BITS_vabs4:
        case BITS_vabsss4: return packed(which, a, b, 1, true);
        default: return packed(which, a, b, 1, false);
    }
}

Test(bits, every_intrinsic_is_what_it_is_defined_as) {
    static const uint32_t edges[EDGES] = {0, 1, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x80ff7f01, 0x00018000};
    static const char *const names[] = {
#define BITS_NAME(name) #name,
        BITS_CASES(BITS_NAME)
#undef BITS_NAME
    };
    static uint32_t a[COUNT], b[COUNT], c[COUNT];
    static uint64_t results[BITS_CASE_COUNT * COUNT];
    uint32_t random = 12345;
    for (int i = 0; i < COUNT; i++) {
        a[i] = edges[i % EDGES];
        b[i] = edges[i / EDGES % EDGES];
        random = random * 1664525u + 1013904223u;
        c[i] = i % 2 ? random >> 7 : random >> 27;
        if (i >= EDGES * EDGES * 3) {
            a[i] = random ^ random >> 11;
            b[i] = i % 5 ? random * 2654435761u : a[i];
        }
    }
    cr_assert_eq(run_bits(results, a, b, c, COUNT), 0);
    expect_none();
    for (int which = 0; which < BITS_CASE_COUNT; which++)
        for (int i = 0; i < COUNT; i++)
            cr_assert_eq(results[which * COUNT + i], defined((enum bits_case)which, a[i], b[i], c[i]),
                         "%s(%#x, %#x, %#x) is %#llx, not %#llx", names[which], a[i], b[i], c[i],
                         (unsigned long long)results[which * COUNT + i],
                         (unsigned long long)defined((enum bits_case)which, a[i], b[i], c[i]));
}

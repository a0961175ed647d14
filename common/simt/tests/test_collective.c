/* Warp collectives against their definitions in the CUDA programming guide and in PTX's shfl. */
#include "findings.h"

int run_shuffle_int(int mode, unsigned mask, int width, const int *operand, const int *in, int *out);
int run_shuffle_long(int mode, unsigned mask, int width, const int *operand, const int64_t *in, int64_t *out);
int run_shuffle_double(int mode, unsigned mask, int width, const int *operand, const double *in, double *out);
int run_votes(unsigned mask, const int *in, unsigned *out);
int run_reduces(unsigned mask, const int *in, int *out);
int run_groups(int *out);
int run_active(unsigned *out);
int run_partial(int *out, unsigned *ballot);
int run_barriers(int *out);
int run_syncwarp(int *out);

TestSuite(collective, .init = quiet, .timeout = 120);

static unsigned state = 12345;

static unsigned draw(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* The source lane of each mode, from the table of the programming guide. -1: the lane itself. */
static int source(int mode, int lane, int operand, int width) {
    int low = lane / width * width;
    switch (mode) {
        case 0: return low + (operand % width + width) % width;
        case 1: return lane - operand < low ? -1 : lane - operand;
        case 2: return lane + operand >= low + width ? -1 : lane + operand;
        default: return (lane ^ operand) >= low + width ? -1 : lane ^ operand;
    }
}

/* One operand for all lanes, or one for each; a mask in which every lane that is read takes part. */
static void draw_case(int *mode, int *width, int operand[32], unsigned *mask) {
    *mode = (int)(draw() % 4);
    *width = 1 << draw() % 6;
    int same = (int)(draw() % 32);
    bool each = *mode == 0 && draw() % 2;
    for (int lane = 0; lane < 32; lane++) operand[lane] = each ? (int)(draw() % 32) : same;
    *mask = draw() | draw();
    for (bool more = true; more;) {
        more = false;
        for (int lane = 0; lane < 32; lane++) {
            int from = source(*mode, lane, operand[lane], *width);
            if ((*mask >> lane & 1) && from >= 0 && !(*mask >> from & 1)) {
                *mask |= 1u << from;
                more = true;
            }
        }
    }
}

#define SHUFFLE_TEST(type, element, value)                                                                           \
    Test(collective, shuffle_##type) {                                                                               \
        for (int round = 0; round < 200; round++) {                                                                  \
            int mode, width, operand[32];                                                                            \
            unsigned mask;                                                                                           \
            element in[32], out[32];                                                                                 \
            draw_case(&mode, &width, operand, &mask);                                                                \
            for (int lane = 0; lane < 32; lane++) in[lane] = (element)(value);                                       \
            cr_assert_eq(run_shuffle_##type(mode, mask, width, operand, in, out), 0);                                \
            for (int lane = 0; lane < 32; lane++) {                                                                  \
                int from = mask >> lane & 1 ? source(mode, lane, operand[lane], width) : -1;                         \
                cr_assert_eq(out[lane], in[from < 0 ? lane : from], "mode %d mask %08x width %d operand %d lane %d", \
                             mode, mask, width, operand[lane], lane);                                                \
            }                                                                                                        \
        }                                                                                                            \
        expect_none();                                                                                               \
    }

SHUFFLE_TEST(int, int, draw())
SHUFFLE_TEST(long, int64_t, (int64_t)draw() << 32 | draw())
SHUFFLE_TEST(double, double, (int)draw() * 0x1p-40)

Test(collective, votes_and_matches) {
    for (int round = 0; round < 200; round++) {
        unsigned mask = draw() | 1u << draw() % 32, out[192], any = 0, all = 1, ballot = 0, equal = 1;
        int in[32], first = -1;
        for (int lane = 0; lane < 32; lane++) in[lane] = (int)(draw() & (round % 2 ? 15 : 5));
        for (int lane = 0; lane < 32; lane++) {
            if (!(mask >> lane & 1)) continue;
            first = first < 0 ? lane : first;
            any |= (in[lane] & 1) != 0;
            all &= (in[lane] & 2) != 0;
            ballot |= (unsigned)((in[lane] & 4) != 0) << lane;
            equal &= (in[lane] & 8) == (in[first] & 8);
        }
        cr_assert_eq(run_votes(mask, in, out), 0);
        for (int lane = 0; lane < 32; lane++) {
            if (!(mask >> lane & 1)) continue;
            unsigned match = 0;
            for (int other = 0; other < 32; other++)
                match |= (unsigned)((mask >> other & 1) && in[other] == in[lane]) << other;
            cr_assert_eq(out[lane] != 0, any);
            cr_assert_eq(out[32 + lane] != 0, all);
            cr_assert_eq(out[64 + lane], ballot);
            cr_assert_eq(out[96 + lane], match);
            cr_assert_eq(out[128 + lane], equal ? mask : 0);
            cr_assert_eq(out[160 + lane] != 0, equal);
        }
    }
    expect_none();
}

Test(collective, reductions) {
    for (int round = 0; round < 100; round++) {
        unsigned mask = draw() | 1u << draw() % 32;
        int in[32], out[256], expected[8], first = __builtin_ctz(mask);
        for (int lane = 0; lane < 32; lane++) in[lane] = (int)draw();
        for (int i = 0; i < 8; i++) expected[i] = i == 0 || i == 7 ? 0 : in[first];
        for (int lane = 0; lane < 32; lane++) {
            if (!(mask >> lane & 1)) continue;
            int v = in[lane];
            expected[0] = (int)((unsigned)expected[0] + (unsigned)v);
            expected[1] = v < expected[1] ? v : expected[1];
            expected[2] = v > expected[2] ? v : expected[2];
            expected[3] = (unsigned)v < (unsigned)expected[3] ? v : expected[3];
            expected[4] = (unsigned)v > (unsigned)expected[4] ? v : expected[4];
            expected[5] &= v;
            expected[6] |= v;
            expected[7] ^= v;
        }
        cr_assert_eq(run_reduces(mask, in, out), 0);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 8 && (mask >> lane & 1); i++)
                cr_assert_eq(out[8 * lane + i], expected[i], "reduction %d", i);
    }
    expect_none();
}

Test(collective, groups_go_their_own_ways) {
    int out[32];
    cr_assert_eq(run_groups(out), 0);
    for (int group = 0; group < 4; group++) {
        int value[8], next[8];
        for (int i = 0; i < 8; i++) value[i] = 8 * group + i;
        for (int round = 0; round <= group; round++) {
            for (int i = 0; i < 8; i++) next[i] = value[i] + value[i ^ 1];
            memcpy(value, next, sizeof value);
        }
        for (int i = 0; i < 8; i++) cr_assert_eq(out[8 * group + i], group % 2 ? value[0] : value[i]);
    }
    expect_none();
}

Test(collective, activemask_is_the_branch) {
    unsigned out[64];
    cr_assert_eq(run_active(out), 0);
    for (int lane = 0; lane < 32; lane++) {
        unsigned branch = 0;
        for (int other = 0; other < 32; other++) branch |= (unsigned)((other % 3 == 0) == (lane % 3 == 0)) << other;
        cr_assert_eq(out[lane], lane % 3 ? ~branch : branch);
#ifndef SIMT_FAST_TEST /* -O2 reorders code; CUDA guarantees nothing here */
        cr_assert_eq(out[32 + lane], 0xffffffffu);
#endif
    }
}

Test(collective, lanes_that_are_missing_are_not_waited_for) {
    int out[48];
    unsigned ballot[48];
    cr_assert_eq(run_partial(out, ballot), 0);
    for (int i = 0; i < 47; i++) {
        cr_assert_eq(ballot[i], i < 32 ? 0xffffffffu : 0x7fffu);
        if (i % 8 == 0 && i < 40)
            cr_assert_eq(out[i], 16); /* the segment of 8, and itself once more: offset 8 reaches outside */
    }
}

Test(collective, barriers_that_count) {
    int out[210];
    cr_assert_eq(run_barriers(out), 0);
    for (int t = 0; t < 70; t++) {
        cr_assert_eq(out[3 * t], 24);
        cr_assert_neq(out[3 * t + 1], 0);
        cr_assert_neq(out[3 * t + 2], 0);
    }
    expect_none();
}

Test(collective, syncwarp_orders_shared_memory) {
    int out[64];
    cr_assert_eq(run_syncwarp(out), 0);
    for (int t = 0; t < 64; t++) cr_assert_eq(out[t], 31 * 32 / 2 + 32 * (t & ~31));
    expect_none();
}

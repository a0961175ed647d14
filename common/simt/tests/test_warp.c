/* Warp intrinsics against their definitions, for every type, several masks, widths and operands. */
#include "test_warp.h"

#include "findings.h"

TestSuite(warp, .init = quiet, .timeout = 60);

static const uint32_t masks[] = {0xffffffff, 0x0000ffff, 0xffff0000, 0x0f0f0f0f, 0x80000001, 0x00000010};
enum { MASKS = sizeof masks / sizeof *masks };

static const int bytes[SHUFFLE_TYPES] = {4, 4, 8, 8, 8, 8, 4, 8, 2, 4, 2, 4};

static int bit(uint32_t x, int i) {
    return (int)(x >> i & 1);
}

/* The source lane, or -1 when it lies outside the segment: then a lane keeps its own value. */
static int source(int mode, int lane, int width, int operand) {
    int first = lane / width * width;
    int from = mode == SHUFFLE_TO        ? first + (operand % width + width) % width
               : mode == SHUFFLE_BY_UP   ? lane - operand
               : mode == SHUFFLE_BY_DOWN ? lane + operand
                                         : lane ^ operand;
    if (mode == SHUFFLE_BY_XOR) return from < first + width ? from : -1; /* a lower segment may be read */
    return from >= first && from < first + width ? from : -1;
}

Test(warp, shuffles_move_every_type_by_every_mode_and_width) {
    static const int widths[] = {32, 16, 8, 4, 2, 1}, operands[] = {0, 1, 2, 3, 5, 16, 31};
    uint64_t values[LANES], out[LANES];
    for (int i = 0; i < LANES; i++) values[i] = UINT64_C(0x0102030405060708) * (uint64_t)(i + 1) ^ (uint64_t)i << 40;
    for (int type = 0; type < SHUFFLE_TYPES; type++) {
        uint64_t kept = bytes[type] == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes[type]) - 1;
        for (int mode = 0; mode < SHUFFLE_MODES; mode++)
            for (int w = 0; w < 6; w++)
                for (int o = 0; o < 7; o++) {
                    cr_assert_eq(run_shuffle(type, mode, 0xffffffff, widths[w], operands[o], out, values), 0);
                    for (int lane = 0; lane < LANES; lane++) {
                        int from = source(mode, lane, widths[w], operands[o]);
                        uint64_t expected = values[from < 0 ? lane : from] & kept;
                        cr_assert_eq(out[lane], expected,
                                     "type %d, mode %d, width %d, operand %d, lane %d: %#llx, not %#llx", type, mode,
                                     widths[w], operands[o], lane, (unsigned long long)out[lane],
                                     (unsigned long long)expected);
                    }
                }
    }
    expect_none();
}

Test(warp, shuffles_under_a_mask_leave_the_other_lanes_alone) {
    uint64_t values[LANES], out[LANES];
    for (int i = 0; i < LANES; i++) values[i] = (uint64_t)(100 + i);
    cr_assert_eq(run_shuffle(TYPE_int, SHUFFLE_BY_XOR, 0x0000ffff, 32, 8, out, values), 0);
    for (int lane = 0; lane < LANES; lane++) cr_assert_eq(out[lane], lane < 16 ? values[lane ^ 8] : 0);
    cr_assert_eq(run_shuffle(TYPE_double, SHUFFLE_TO, 0x80000001, 32, 31, out, values), 0);
    cr_assert_eq(out[0], values[31]);
    cr_assert_eq(out[31], values[31]);
    expect_none();
}

static uint32_t vote_defined(int vote, uint32_t mask, const uint32_t *values, int lane) {
    uint32_t ballot = 0, same = 0;
    bool all_same = true;
    int first = __builtin_ctz(mask);
    for (int i = 0; i < LANES; i++)
        if (bit(mask, i)) {
            ballot |= (uint32_t)(values[i] != 0) << i;
            same |= (uint32_t)(values[i] == values[lane]) << i;
            all_same = all_same && values[i] == values[first];
        }
    switch (vote) {
        case VOTE_any: return ballot != 0;
        case VOTE_all: return ballot == mask;
        case VOTE_ballot: return ballot;
        case VOTE_uni: return ballot == 0 || ballot == mask;
        case VOTE_activemask: return mask;
        case VOTE_match_all: return all_same ? mask : 0;
        case VOTE_match_all_predicate: return all_same;
        default: return same;
    }
}

Test(warp, votes_and_matches) {
    uint32_t values[3][LANES], out[LANES];
    for (int i = 0; i < LANES; i++) {
        values[0][i] = (uint32_t)(i * 7 % 5);
        values[1][i] = 0;
        values[2][i] = 9;
    }
    for (int vote = 0; vote < VOTES; vote++)
        for (int m = 0; m < MASKS; m++)
            for (int v = 0; v < 3; v++) {
                cr_assert_eq(run_vote(vote, masks[m], out, values[v]), 0);
                for (int lane = 0; lane < LANES; lane++) {
                    uint32_t expected = bit(masks[m], lane) ? vote_defined(vote, masks[m], values[v], lane) : 0;
                    bool as_truth = vote == VOTE_any || vote == VOTE_all || vote == VOTE_uni;
                    cr_assert_eq(as_truth ? out[lane] != 0 : out[lane], expected,
                                 "vote %d, mask %#x, values %d, lane %d: %#x", vote, masks[m], v, lane, out[lane]);
                }
            }
    expect_none();
}

static uint32_t reduction_defined(int reduction, uint32_t mask, const uint32_t *values) {
    uint32_t r = values[__builtin_ctz(mask)];
    for (int i = __builtin_ctz(mask) + 1; i < LANES; i++)
        if (bit(mask, i)) {
            uint32_t v = values[i];
            switch (reduction) {
                case REDUCE_add:
                case REDUCE_uadd: r += v; break;
                case REDUCE_min: r = (int32_t)v < (int32_t)r ? v : r; break;
                case REDUCE_umin: r = v < r ? v : r; break;
                case REDUCE_max: r = (int32_t)v > (int32_t)r ? v : r; break;
                case REDUCE_umax: r = v > r ? v : r; break;
                case REDUCE_and: r &= v; break;
                case REDUCE_or: r |= v; break;
                default: r ^= v; break;
            }
        }
    return r;
}

Test(warp, reductions) {
    uint32_t values[LANES], out[LANES];
    for (int i = 0; i < LANES; i++) values[i] = 0x9e3779b9u * (uint32_t)(i + 3);
    for (int reduction = 0; reduction < REDUCTIONS; reduction++)
        for (int m = 0; m < MASKS; m++) {
            cr_assert_eq(run_reduction(reduction, masks[m], out, values), 0);
            for (int lane = 0; lane < LANES; lane++)
                cr_assert_eq(out[lane], bit(masks[m], lane) ? reduction_defined(reduction, masks[m], values) : 0,
                             "reduction %d, mask %#x, lane %d: %#x", reduction, masks[m], lane, out[lane]);
        }
    expect_none();
}

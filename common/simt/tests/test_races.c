/* The race detector: planted races are found on their lines, in either order of blocks and lanes. */
#include "races.h"

TestSuite(races, .timeout = 60);

/* Only findings of this kind, one of them on either line: the order decides which access comes second. */
static void expect_race(enum simt_finding_kind kind, const char *mark, const char *other, const char *word) {
    int line = line_of(__FILE__, mark), other_line = other ? line_of(__FILE__, other) : line;
    cr_assert(line > 0 && other_line > 0, "no mark '%s'", mark);
    cr_assert_gt(simt_finding_count(), 0, "not found");
    bool found = false;
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const struct simt_finding *f = simt_finding_at(i);
        if (f->kind == SIMT_UNINITIALISED) continue; /* a premature read is uninitialised */
        cr_expect(f->line == line || f->line == other_line, "line %d: %s", f->line, f->text);
        cr_expect(f->kind == kind || f->kind == SIMT_RACE_SAME_VALUE, "%s", f->text);
        found |= f->kind == kind && f->is_error == (kind == SIMT_RACE) && strstr(f->text, word);
    }
    cr_expect(found, "no '%s' in: %s", word, simt_finding_at(0)->text);
}

#define PLANTED_AS(kind, name, mark, other, word)          \
    int run_##name(void);                                  \
    Test(races, name) {                                    \
        for (int shuffled = 0; shuffled < 2; shuffled++) { \
            set(shuffled, 1);                              \
            run_##name();                                  \
            expect_race(kind, mark, other, word);          \
        }                                                  \
    }
#define PLANTED(name, mark, other, word) PLANTED_AS(SIMT_RACE, name, mark, other, word)

PLANTED(missing_barrier, "stores its own", "loads another warp's", "No __syncthreads()")
PLANTED(missing_barrier_before_sum, "every warp stores", "each thread loads all", "No __syncthreads()")
PLANTED(sum_of_each_warp, "each warp stores apart", "loads of its own warp", "no __syncwarp()")
PLANTED(missing_syncwarp, "stores in the warp", "loads the neighbour", "no __syncwarp()")
PLANTED(shuffle_is_no_sync, "stores before the shuffle", "loads behind the shuffle", "no __syncwarp()")
PLANTED(store_after_load, "loads all parts", "stores for the next phase", "No __syncthreads()")
PLANTED(missing_barrier_in_loop, "stores the next tile", "loads this tile", "No __syncthreads()")
PLANTED(blocks_store_alike, "every block stores", NULL, "Blocks run in any order")
PLANTED(reads_other_block, "stores of a block", "loads the next block's", "Blocks run in any order")
PLANTED(stencil_in_place, "loads the neighbours", "stores in place", "race between")
PLANTED(same_byte, "two lanes, one byte", NULL, "of 1 byte")
PLANTED(same_short, "two warps, one short", NULL, "of 2 bytes")
PLANTED(init_then_atomic, "zeroes the sum", "adds to the sum", "Atomic")
PLANTED(atomic_then_read, "adds its part", "loads too early", "Atomic")
PLANTED(ticket_without_fence, "stores the part", "the last block loads", "Blocks run in any order")
PLANTED(flag_without_fence, "stores the message", "loads the message", "Blocks run in any order")
PLANTED(sync_of_half, "all lanes store", "loads the other half", "no __syncwarp()")
PLANTED(across_tiles, "stores in its tile", "loads from another tile", "no __syncwarp()")
PLANTED(rows_overlap, "one too many", NULL, "race between")
PLANTED(all_readers_count, "all lanes load", "the first reader stores", "no __syncwarp()")
PLANTED(not_every_reader_is_ordered, "seventeen lanes load", "ordered after sixteen", "by thread (20,0,0)")
PLANTED(lockstep_belief, "assumes lockstep", NULL, "no __syncwarp()")
PLANTED(stored_beside_flags, "stores beside the flag", "loads beside the flag", "no __syncwarp()")
PLANTED(vector_over_scalar, "stores four", "stores one of another's", "race between")
PLANTED(histogram_without_atomics, "loads, adds, stores", NULL, "race between")
PLANTED(device_counter, "every block counts", NULL, "Blocks run in any order")
PLANTED(dynamic_shared, "stores to dynamic memory", "loads from dynamic memory", "No __syncthreads()")
PLANTED(tail_is_not_alone, "the tail stores once more", NULL, "race between")
PLANTED_AS(SIMT_RACE_SAME_VALUE, same_value, "all store one", NULL, "the same value")
PLANTED_AS(SIMT_RACE_SAME_VALUE, same_values_by_each_warp, "each warp stores the table", NULL, "the same value")

/* The race detector reports nothing for right programs, on any number of OS threads: order between blocks. */
#include "races.h"

TestSuite(no_races, .timeout = 60);

RIGHT(in_place)
RIGHT(histogram)
RIGHT(last_block_reduces)
RIGHT(all_threads_fence)
RIGHT(flag_between_blocks)
RIGHT(flag_by_atomics)
RIGHT(chain_of_blocks)
RIGHT(lock_between_blocks)
RIGHT(lock_between_lanes)
RIGHT(barrier_by_hand)
RIGHT(grid_sync)
RIGHT(weights_of_all)
RIGHT(vectors)
RIGHT(launches_are_ordered)
RIGHT(swap_plain)
RIGHT(swap_first_element)
RIGHT(swap_cast)
RIGHT(swap_other_pointer)
RIGHT(swap_element)
RIGHT(swap_element_by_sum)
RIGHT(swap_sum_by_element)
RIGHT(swap_cached)
RIGHT(swap_cached_element)
RIGHT(swap_volatile)
RIGHT(swap_atomic)
RIGHT(swap_member)

int run_rows_that_share_lines(void);
Test(no_races, rows_that_share_lines) {
    for (int repeat = 0; repeat < 40; repeat++) {
        set(false, 8);
        cr_assert_eq(run_rows_that_share_lines(), 0);
        expect_no_race();
    }
}

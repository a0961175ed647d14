/* The race detector reports nothing for right programs, on any number of OS threads: order within a block. */
#include "races.h"

TestSuite(no_races, .timeout = 60);

RIGHT(tree)
RIGHT(warp_tree)
RIGHT(double_buffer)
RIGHT(transpose)
RIGHT(bytes_and_shorts)
RIGHT(warps_hand_over) /* not under racecheck, which knows barriers but no flags with fences */
RIGHT(early_exit)
RIGHT(half_exchanges)
RIGHT(tiles)
RIGHT(parts_then_all)
RIGHT(reused_by_other_lanes)
RIGHT(read_then_written_behind_barrier)
RIGHT(words_beside_flags)
RIGHT(half_exchanges_behind_a_loop)
RIGHT(half_comes_from_behind)

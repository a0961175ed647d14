/* cub/cub.cuh — not in this backend. */
#error "the CPU backend has no CUB: write the reduction with shuffles, or use cooperative_groups/reduce.h"

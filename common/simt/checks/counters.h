/* counters.h — counters of the launches and traffic of each allocation (simt.h). */
#ifndef SIMT_COUNTERS_H
#define SIMT_COUNTERS_H

#include "merge.h"

#if SIMT_CHECKED

void counters_request(const struct request *request, unsigned alive);
/* Further requests like this one of a full warp, each with every lane one unit further on: how many of them count exactly like
 * it; and counts some. */
unsigned counters_repeatable(const struct request *request);
void counters_repeat(const struct request *request, unsigned count);
void counters_launch_begin(const struct simt_launch *launch);
void counters_launch_end(struct simt_launch *launch);
void counters_block_end(struct simt_block *block);
void counters_syncwarp(void);
void counters_barrier(unsigned warps);

/* Distinct 32-byte sectors: that the lanes of the mask touch; of a request. The extra wavefronts of a request that has
 * bank conflicts; `shared` is the start of shared memory, which lies in bank 0. */
unsigned lanes_sectors(const uint64_t *address, uint32_t mask);
unsigned request_sectors(const struct request *request);
unsigned request_conflicts(const struct request *request, uintptr_t shared);

#endif

/* Bytes that cudaMemcpy and cudaMemset move. Nothing in the fast build. */
void counters_copy(bool from_the_device, bool to_the_device, uint64_t bytes);
void counters_set(uint64_t bytes);
void counters_copies(struct simt_counters *out); /* sets the bytes that were copied; takes no lock */

/* Sums; of longest_chain and largest_grid_warps the maximum. */
void counters_add(struct simt_counters *to, const struct simt_counters *from);

#endif

/* ptx.c — what inline PTX calls besides the functions of CUDA: shared addresses, the global timer, and barriers that
 * are not modelled. */
#define _GNU_SOURCE
#include <time.h>

#include "api.h"
#include "engine/arena.h"

/* The inverse of __cvta_generic_to_shared. An address beyond the block's shared memory stays beyond it, and does not
 * become one of another block or of global memory. */
void *simt_shared_at(uint64_t address) {
    if (simt_self == NULL) { return NULL; }
    return simt_self->block->shared + (address < SHARED_SLOT ? address : SHARED_SLOT);
}

uint64_t simt_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void simt_whole_block(unsigned threads) {
    const struct simt_thread *self = simt_self;
    if (self == NULL || threads == 0) { return; }
    unsigned whole = (self->block->threads + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    if (threads == whole) { return; }
    simt_report(SIMT_LAUNCH, true, (uintptr_t)__builtin_return_address(0), self,
                "bar.sync of %u of the block's %u threads is not modelled by the CPU backend\n"
                "Use __syncthreads(), or __syncwarp() within a warp",
                threads, self->block->threads);
    simt_fail_launch(cudaErrorLaunchFailure);
}

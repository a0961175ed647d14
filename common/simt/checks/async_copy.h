/* async_copy.h — asynchronous copies that have not completed. The functions that kernels call: engine/internal.h. */
#ifndef SIMT_ASYNC_COPY_H
#define SIMT_ASYNC_COPY_H

#include "engine/internal.h"

/* Is a copy to this address of the block's shared memory pending? */
bool async_copy_pending(const struct simt_block *block, uintptr_t address);
/* The running thread's copies that belong to this cuda::barrier complete. */
void async_copies_arrive(const void *barrier);
void async_copies_free(struct simt_block *block);

#endif

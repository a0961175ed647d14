/* async_copy.h — asynchronous copies to shared memory: checks/async_copy.c. */
#ifndef SIMT_ASYNC_COPY_CALLS_H
#define SIMT_ASYNC_COPY_CALLS_H

#include "boundary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 4, 8 or 16 bytes, of which those beyond `from_bytes` become 0. */
void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned from_bytes) SIMT_NOTHROW;
/* 4, 8 or 16 bytes; the copy completes when its thread arrives at the barrier. */
void simt_async_copy_to_barrier(void *to, const void *from, unsigned bytes, const void *barrier) SIMT_NOTHROW;
void simt_async_commit(void) SIMT_NOTHROW;
/* Completes the thread's copies, except for the latest `pending` groups. */
void simt_async_wait(unsigned pending) SIMT_NOTHROW;
void simt_async_wait_all(void) SIMT_NOTHROW; /* also copies that are in no group yet */

#ifdef __cplusplus
}
#endif
#endif

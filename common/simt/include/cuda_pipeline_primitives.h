/* cuda_pipeline_primitives.h — explicit cp.async: copies of 4, 8 or 16 bytes (checks/async_copy.c). */
#ifndef CUDA_PIPELINE_PRIMITIVES_H
#define CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

#include "simt/async_copy.h"

/* The last `zeros` bytes are not copied but zeroed. */
SIMT_INLINE void __pipeline_memcpy_async(void *__restrict__ to, const void *__restrict__ from, size_t bytes,
                                         size_t zeros = 0) {
    simt_async_copy(to, from, static_cast<unsigned>(bytes), static_cast<unsigned>(bytes - zeros));
}
SIMT_INLINE void __pipeline_commit() {
    simt_async_commit();
}
SIMT_INLINE void __pipeline_wait_prior(size_t groups) {
    simt_async_wait(static_cast<unsigned>(groups));
}

#endif

/* cuda_pipeline_primitives.h — explicit cp.async: copies of 4, 8 or 16 bytes. They complete when they are issued. */
#ifndef CUDA_PIPELINE_PRIMITIVES_H
#define CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

/* The last `zeros` bytes are not copied but zeroed. */
SIMT_INLINE void __pipeline_memcpy_async(void *__restrict__ to, const void *__restrict__ from, size_t bytes,
                                         size_t zeros = 0) {
    if (zeros == 0 && bytes == 16) {
        *static_cast<simt::word16 *>(to) = *static_cast<const simt::word16 *>(from);
    } else if (zeros == 0 && bytes == 8) {
        *static_cast<simt::word8 *>(to) = *static_cast<const simt::word8 *>(from);
    } else if (zeros == 0 && bytes == 4) {
        *static_cast<simt::word4 *>(to) = *static_cast<const simt::word4 *>(from);
    } else {
        for (size_t i = 0; i < bytes; i++) {
            static_cast<unsigned char *>(to)[i] = i < bytes - zeros ? static_cast<const unsigned char *>(from)[i] : 0;
        }
    }
}
SIMT_INLINE void __pipeline_commit() {}
SIMT_INLINE void __pipeline_wait_prior(size_t) {}

#endif

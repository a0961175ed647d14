/* heap.h — malloc and free of a CUDA source: the device's heap in kernels, the C library's on the host.
 *
 * Only the names for the linker change. Included before <stdlib.h>, whose declarations then refer to these.
 */
#ifndef SIMT_HEAP_H
#define SIMT_HEAP_H

#include <stddef.h>

#if defined(__cplusplus) && defined(__CUDACC__)
extern "C" {
void *malloc(size_t bytes) noexcept __asm__("simt_malloc"); /* api/device_side.c */
void free(void *pointer) noexcept __asm__("simt_free");
}
#endif

#endif

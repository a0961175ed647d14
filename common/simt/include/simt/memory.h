/* memory.h — memcpy, memmove and memset of a CUDA source: in a kernel they are accesses, checked and counted like
 * others. g++ makes no events of them, except where a copy is one load and one store.
 *
 * Included last, after all headers that declare the C library's own. A macro without arguments, so that std::memcpy and
 * ::memcpy find it too.
 */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include <string.h>

#if defined(__cplusplus) && defined(__CUDACC__)
#include <cstring>

extern "C" { /* checks/hooks_tsan.c */
void *simt_memcpy(void *to, const void *from, size_t bytes) noexcept;
void *simt_memmove(void *to, const void *from, size_t bytes) noexcept;
void *simt_memset(void *to, int value, size_t bytes) noexcept;
}

SIMT_INLINE void *simt_copy_bytes(void *to, const void *from, size_t bytes) {
    if (__builtin_constant_p(bytes) && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)) {
        return __builtin_memcpy(to, from, bytes);
    }
    return simt_memcpy(to, from, bytes);
}
SIMT_INLINE void *simt_move_bytes(void *to, const void *from, size_t bytes) {
    return simt_memmove(to, from, bytes);
}
SIMT_INLINE void *simt_set_bytes(void *to, int value, size_t bytes) {
    return simt_memset(to, value, bytes);
}

namespace std {
using ::simt_copy_bytes;
using ::simt_move_bytes;
using ::simt_set_bytes;
} // namespace std

#define memcpy  simt_copy_bytes
#define memmove simt_move_bytes
#define memset  simt_set_bytes
#endif

#endif

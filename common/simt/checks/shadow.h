/* shadow.h — which bytes of the arena are allocated, and which have been written.
 *
 * Every 4 bytes of the arena have one shadow byte. Bit i (0..3): byte i is allocated. Bit 4 + i: byte i has been
 * written. The shadow of an address lies at a quarter of the address. The fast build has no shadow: there the
 * functions do nothing.
 */
#ifndef SIMT_SHADOW_H
#define SIMT_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHADOW_ALLOCATED = 0x0f, SHADOW_WRITTEN = 0xf0 };

static inline unsigned char *shadow_of(uintptr_t address) {
    return (unsigned char *)(address >> 2);
}

void shadow_allocate(uintptr_t start, size_t bytes); /* allocated, not written; start is a multiple of 4 */
void shadow_release(uintptr_t start, size_t bytes);
void shadow_write(uintptr_t start, size_t bytes);
void shadow_copy(uintptr_t to, uintptr_t from, size_t bytes);
bool shadow_allocated(uintptr_t start, size_t bytes);
bool shadow_written(uintptr_t start, size_t bytes);
size_t shadow_first_unwritten(uintptr_t start, size_t bytes); /* offset; bytes if all are written. Checked build only */

#endif

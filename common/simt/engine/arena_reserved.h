/* arena_reserved.h — addresses that nothing else gets, at which memory is allocated again and again: the memory of graphs.
 *
 * arena_free ends such an allocation. A reservation ends with its last holder, and an allocation is one.
 */
#ifndef SIMT_ARENA_RESERVED_H
#define SIMT_ARENA_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *arena_reserve(size_t bytes, uintptr_t pc); /* held by the caller; NULL when over the device's memory */
bool arena_hold(void *start);                    /* false: no reservation starts there */
void arena_let_go(void *start);
bool arena_alloc_reserved(void *start); /* false: allocated already, or over the device's memory */

#endif

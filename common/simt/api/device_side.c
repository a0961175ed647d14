/* device_side.c — what kernels call besides barriers and atomics: assert, traps, memory of the device's heap, and what
 * kind of memory a pointer points to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/arena.h"
#include "api.h"

/* "void k(int *)::<lambda()>" → "void k(int *)": the translator makes a lambda of a kernel's body. */
static int visible_length(const char *function) {
    const char *lambda = strstr(function, "::<lambda");
    return lambda != NULL ? (int)(lambda - function) : (int)strlen(function);
}

/* assert() of the C library ends here, on the host as well. */
void __assert_fail(const char *expression, const char *file, unsigned int line, const char *function) {
    const struct simt_thread *self = simt_self;
    if (self == NULL) {
        fflush(stdout);
        fprintf(stderr, "%s: %s:%u: %s: Assertion `%s' failed.\n", program_invocation_short_name, file, line, function,
                expression);
        abort();
    }
    const struct dim *block = &self->block->index, *thread = &self->index;
    simt_report(SIMT_ASSERT, true, (uintptr_t)__builtin_return_address(0), self,
                "%s:%u: %.*s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", file, line,
                visible_length(function), function, block->x, block->y, block->z, thread->x, thread->y, thread->z,
                expression);
    simt_fail_launch(cudaErrorAssert);
}

void simt_trap(void) {
    if (simt_self == NULL) { abort(); }
    simt_report(SIMT_ASSERT, true, (uintptr_t)__builtin_return_address(0), simt_self, "__trap() ends the kernel");
    simt_fail_launch(cudaErrorLaunchFailure);
}

/* malloc and free in a kernel: the device's heap. On the host: the C library's. */
void *simt_malloc(size_t bytes) {
    return simt_self == NULL ? malloc(bytes) : arena_alloc_at(bytes, (uintptr_t)__builtin_return_address(0));
}

void simt_free(void *pointer) {
    if (simt_self == NULL) {
        free(pointer);
    } else if (pointer != NULL && !arena_free(pointer)) {
        simt_report(SIMT_OUT_OF_BOUNDS, true, (uintptr_t)__builtin_return_address(0), simt_self,
                    "Invalid free of %p: it is not the start of memory from malloc", pointer);
        simt_fail_launch(cudaErrorIllegalAddress);
    }
}

unsigned __isShared(const void *pointer) {
    return in_arena((uintptr_t)pointer) && in_shared((uintptr_t)pointer);
}

unsigned __isGlobal(const void *pointer) {
    struct arena_allocation variable;
    return arena_is_device(pointer) || arena_find_variable((uintptr_t)pointer, &variable);
}

unsigned __isLocal(const void *pointer) {
    uintptr_t address = (uintptr_t)pointer;
    return simt_self != NULL && address >= simt_self->stack_low && address < simt_self->stack_high;
}

bool simt_grid_is_cooperative(void) {
    return simt_self != NULL && simt_self->block->launch->cooperative;
}

size_t __cvta_generic_to_shared(const void *pointer) {
    return simt_self == NULL ? 0 : (size_t)((uintptr_t)pointer - (uintptr_t)simt_self->block->shared);
}

/* device_side.c — functions that kernels call besides barriers and atomics: assert, traps, clocks, the device's heap, and
 * the address space of a pointer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "engine/arena.h"

/* "void k(int *)::<lambda()>" → "void k(int *)": the translator makes a lambda of a kernel's body. */
static int visible_length(const char *function) {
    const char *lambda = strstr(function, "::<lambda");
    return lambda != NULL ? (int)(lambda - function) : (int)strlen(function);
}

/* assert() of the C library calls it, on the host, too. */
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

/* ---- clocks ---- */

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Threads that read the clock often wait for it. They take turns, so that they wait together, as on a device. */
enum { READS_PER_TURN = 16 };

static int64_t device_clock(struct simt_thread *self, uintptr_t pc) {
    self->block->effects++; /* a loop that reads the clock may end by it (checks/polling.c) */
    if (++self->clock_reads % READS_PER_TURN == 0) {
        self->warp->polls |= 1u << self->lane;
        self->warp->passes = true;
        simt_lane_block(THREAD_TRACE_FULL, pc);
    }
    return nanoseconds(CLOCK_MONOTONIC) * CLOCK_MEGAHERTZ / 1000;
}

long long simt_clock(void) {
    struct simt_thread *self = simt_self;
    return self == NULL ? 0 : device_clock(self, (uintptr_t)__builtin_return_address(0));
}

/* Replaces the C library's. */
clock_t clock(void) {
    struct simt_thread *self = simt_self;
    return self == NULL ? nanoseconds(CLOCK_PROCESS_CPUTIME_ID) / (1000000000 / CLOCKS_PER_SEC)
                        : device_clock(self, (uintptr_t)__builtin_return_address(0));
}

/* malloc and free in a kernel: the device's heap. On the host: the C library's. */
void *simt_malloc(size_t bytes) {
    return simt_self == NULL ? malloc(bytes) : arena_alloc_at(bytes, (uintptr_t)__builtin_return_address(0));
}

void device_free(void *pointer, uintptr_t pc) {
    if (pointer == NULL || arena_free(pointer)) { return; }
    simt_report(SIMT_OUT_OF_BOUNDS, true, pc, simt_self,
                "Invalid free of %p: it is not the start of memory from malloc", pointer);
    simt_fail_launch(cudaErrorIllegalAddress);
}

void simt_free(void *pointer) {
    if (simt_self == NULL) {
        free(pointer);
    } else {
        device_free(pointer, (uintptr_t)__builtin_return_address(0));
    }
}

/* C++'s new and delete, by their linker names: new(n), new[](n), both with an alignment; delete(p), with a size, with an
 * alignment, with both. On the host, a program that is out of memory is aborted: there is no exception. */
void *simt_new_aligned(size_t bytes, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void *simt_new(size_t bytes) __asm__("_Znwm");

static void *unless_null(void *pointer, size_t bytes) {
    if (pointer != NULL) { return pointer; }
    fprintf(stderr, "%s: out of memory: new of %zu bytes\n", program_invocation_short_name, bytes);
    abort();
}

void *simt_new_aligned(size_t bytes, size_t alignment) {
    if (simt_self != NULL) { return arena_alloc_at(bytes, (uintptr_t)__builtin_return_address(0)); }
    void *pointer = NULL;
    return unless_null(posix_memalign(&pointer, alignment, bytes) == 0 ? pointer : NULL, bytes);
}

void *simt_new(size_t bytes) {
    return simt_self != NULL ? arena_alloc_at(bytes, (uintptr_t)__builtin_return_address(0))
                             : unless_null(malloc(bytes > 0 ? bytes : 1), bytes);
}

#define ALSO_CALLED(name, of) __asm__(".globl " name "\n.set " name ", " of)
ALSO_CALLED("_Znam", "_Znwm");
ALSO_CALLED("_ZnamSt11align_val_t", "_ZnwmSt11align_val_t");
ALSO_CALLED("_ZdlPv", "simt_free");
ALSO_CALLED("_ZdaPv", "simt_free");
ALSO_CALLED("_ZdlPvm", "simt_free");
ALSO_CALLED("_ZdaPvm", "simt_free");
ALSO_CALLED("_ZdlPvSt11align_val_t", "simt_free");
ALSO_CALLED("_ZdaPvSt11align_val_t", "simt_free");
ALSO_CALLED("_ZdlPvmSt11align_val_t", "simt_free");
ALSO_CALLED("_ZdaPvmSt11align_val_t", "simt_free");

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

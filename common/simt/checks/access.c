/* access.c — the slow path of the access check: first writes, odd sizes, device variables, and all errors. */
#include "access.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "async_copy.h"
#include "json_report.h"
#include "races.h"
#include "source.h"

#if SIMT_CHECKED

extern char __executable_start, data_start;

const char *access_name(enum trace_kind kind) {
    switch (kind) {
        case TRACE_READ:
        case TRACE_VOLATILE_READ: return "read";
        case TRACE_WRITE:
        case TRACE_VOLATILE_WRITE: return "write";
        default: return "atomic";
    }
}

static void about(enum trace_kind kind, uintptr_t address, unsigned size) {
    report_access(&(struct reported_access){.kind = access_name(kind),
                                            .space = in_shared(address) ? "shared" : "global",
                                            .bytes = size,
                                            .address = address},
                  NULL);
}

static void report_out_of_bounds(const struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                                 unsigned size) {
    bool shared = in_shared(address);
    struct arena_allocation near;
    char where[256] = "", distance[GROUPED], bytes[GROUPED];
    if (!shared && arena_was_freed(address, &near)) {
        snprintf(where, sizeof where, "and is inside the allocation at 0x%llx of size %s bytes that has been freed",
                 (unsigned long long)near.start, grouped(near.bytes, bytes));
    } else if (shared ? shared_nearest(self->block, address, &near) : arena_nearest(address, &near)) {
        bool before = address < near.start;
        char what[128] = "the nearest allocation";
        if (near.name) snprintf(what, sizeof what, "'%s'", near.name);
        snprintf(where, sizeof where, "and is %s bytes %s %s at 0x%llx of size %s bytes",
                 grouped(before ? near.start - address : address - near.start - near.bytes + 1, distance),
                 before ? "before" : "after", what, (unsigned long long)near.start, grouped(near.bytes, bytes));
    }
    about(kind, address, size);
    simt_report(SIMT_OUT_OF_BOUNDS, true, pc, self,
                "Invalid __%s__ %s of size %u bytes\nAccess to 0x%llx is out of bounds\n%s",
                shared ? "shared" : "global", access_name(kind), size, (unsigned long long)address, where);
}

/* mincore fails for a page that is not mapped. */
static bool mapped(uintptr_t address) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    return mincore((void *)(address & ~(page - 1)), 1, &resident) == 0;
}

static bool local_of_a_thread(const struct simt_block *block, uintptr_t address) {
    for (unsigned i = 0; i < block->threads; i++)
        if (block->thread[i].stack_low && address - block->thread[i].stack_low < STACK_BYTES) { return true; }
    return false;
}

static void report_foreign(const struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                           unsigned size) {
    enum simt_finding_kind found = SIMT_INVALID_POINTER;
    const char *what = "No memory is there: the pointer is not initialised, overwritten, or null plus a large index";
    if (address < 4096) {
        what = "It is a null pointer, or a null pointer plus an index";
    } else if (local_of_a_thread(self->block, address)) {
        what = "It is a local variable of another thread, which only that thread can access";
    } else if (mapped(address)) {
        found = SIMT_HOST_POINTER;
        what = "It is a host address: copy the data to memory from cudaMalloc and pass that";
    }
    size_t bytes;
    const char *name = source_variable(address, &bytes);
    about(kind, address, size);
    simt_report(found, true, pc, self,
                "Invalid __global__ %s of size %u bytes\nAccess to 0x%llx is not in device memory\n%s%s%s%s",
                access_name(kind), size, (unsigned long long)address, what,
                *name ? "\nIt belongs to the host variable '" : "", name, *name ? "'" : "");
}

static void report_uninitialised(const struct simt_thread *self, uintptr_t pc, uintptr_t address, unsigned size) {
    struct arena_allocation in;
    bool shared = in_shared(address);
    char where[200] = "", offset[GROUPED], bytes[GROUPED];
    if (shared ? shared_nearest(self->block, address, &in) : arena_find(address, &in))
        snprintf(where, sizeof where, "The memory is uninitialised at byte %s of %s%s%s, %s bytes in size",
                 grouped(address - in.start, offset), in.name ? "'" : "the allocation", in.name ? in.name : "",
                 in.name ? "'" : "", grouped(in.bytes, bytes));
    about(TRACE_READ, address, size);
    simt_report(SIMT_UNINITIALISED, true, pc, self, "Uninitialized __%s__ memory read of size %u bytes\n%s%s",
                shared ? "shared" : "global", size, where,
                async_copy_pending(self->block, address)
                    ? "\nAn asynchronous copy to it has not completed: the thread that copies must wait for it"
                    : "");
}

static void report_misaligned(const struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                              unsigned size) {
    about(kind, address, size);
    simt_report(SIMT_MISALIGNED, true, pc, self,
                "Invalid __%s__ %s of size %u bytes\nAccess to 0x%llx is misaligned: it is not a multiple of %u",
                in_shared(address) ? "shared" : "global", access_name(kind), size, (unsigned long long)address, size);
}

/* A device variable, or a constant of the program itself, which device code may read. Directly behind a device variable
 * there may be a small host variable: an index past the end is likelier than a pointer to the host variable. */
static enum trace_space check_outside(struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                                      unsigned size, bool *traced) {
    struct arena_allocation variable;
    char bytes[GROUPED];
    if (arena_find_variable(address, &variable) && address + size <= variable.start + variable.bytes)
        return variable.id & ARENA_CONSTANT ? TRACE_CONSTANT : TRACE_GLOBAL;
    size_t other = 0;
    source_variable(address, &other);
    if (other < RED_ZONE / 4 && arena_variable_before(address, RED_ZONE / 4, &variable)) {
        about(kind, address, size);
        simt_report(SIMT_OUT_OF_BOUNDS, true, pc, self,
                    "Invalid __global__ %s of size %u bytes\nAccess to 0x%llx is out of bounds\n"
                    "and is past the end of '%s' of size %s bytes",
                    access_name(kind), size, (unsigned long long)address, variable.name,
                    grouped(variable.bytes, bytes));
        simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS);
    }
    bool constant = address >= (uintptr_t)&__executable_start && address < (uintptr_t)&data_start;
    if (constant && kind == TRACE_READ) {
        *traced = false;
        return TRACE_GLOBAL;
    }
    if (simt_host_and_device(address, size)) return TRACE_GLOBAL;
    report_foreign(self, pc, kind, address, size);
    simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS);
}

enum trace_space access_check(struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                              unsigned size, bool *traced) {
    *traced = true;
    if (!in_arena(address)) return check_outside(self, pc, kind, address, size, traced);
    bool shared = in_shared(address);
    if ((shared && address - (uintptr_t)self->block->shared >= SHARED_SLOT) || !shadow_allocated(address, size)) {
        report_out_of_bounds(self, pc, kind, address, size);
        simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS);
    }
    if (address & (size - 1)) {
        report_misaligned(self, pc, kind, address, size);
        simt_fail_launch(SIMT_ERROR_MISALIGNED);
    }
    if (kind != TRACE_WRITE && kind != TRACE_VOLATILE_WRITE && !shadow_written(address, size)) {
        report_uninitialised(self, pc, address, size);
    }
    if (kind != TRACE_READ && kind != TRACE_VOLATILE_READ) shadow_write(address, size);
    return shared ? TRACE_SHARED : TRACE_GLOBAL;
}

void access_by_host(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size) {
    if (simt_host_and_device(address, size)) {
        races_by_host(pc, kind, address, size);
        return;
    }
    about(kind, address, size);
    simt_report(SIMT_DEVICE_POINTER, true, pc, NULL,
                "Invalid host %s of size %u bytes\nAccess to 0x%llx is in device memory\n"
                "The host cannot dereference a device pointer: copy with cudaMemcpy",
                access_name(kind), size, (unsigned long long)address);
}

void access_hook_slow(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    struct simt_thread *self = simt_self;
    enum trace_space space = in_global(address) ? TRACE_GLOBAL : TRACE_SHARED;
    if (self == NULL) {
        if (in_arena(address))
            access_by_host(pc, kind, address, 1u << size_log2);
        else if (simt_confined)
            confine_check(pc, (const void *)address, (size_t)1 << size_log2,
                          kind != TRACE_READ && kind != TRACE_VOLATILE_READ);
        return;
    }
    if (!(in_global(address) || in_own_shared(address)) || !access_is_plain(kind, address, size_log2)) {
        if (address - self->stack_low < STACK_BYTES) return;
        bool traced;
        space = access_check(self, pc, kind, address, 1u << size_log2, &traced);
        if (!traced) return;
    }
    if (kind == TRACE_READ || kind == TRACE_WRITE)
        trace_access(self, pc, kind, size_log2, space, address);
    else
        trace_sync_access(self, pc, kind, size_log2, space, address);
}

#endif

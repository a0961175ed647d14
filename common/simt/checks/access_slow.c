/* access_slow.c — the accesses that the hooks' few instructions do not cover: checked in full, then traced. */
#include "access.h"

#if SIMT_CHECKED

void access_hook_slow(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    struct simt_thread *self = simt_self;
    enum trace_space space = in_global(address) ? TRACE_GLOBAL : TRACE_SHARED;
    if (self == NULL) {
        if (in_arena(address)) access_by_host(pc, kind, address, 1u << size_log2);
        return;
    }
    if (!(in_global(address) || in_own_shared(address)) || !access_is_plain(address, size_log2)) {
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

#else
typedef int access_slow_is_empty_in_the_fast_build;
#endif

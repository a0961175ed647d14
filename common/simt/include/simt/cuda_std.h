/* cuda_std.h — what the headers cuda/… share: thread scopes and memory orders, in cuda:: and cuda::std::. */
#ifndef SIMT_CUDA_STD_H
#define SIMT_CUDA_STD_H

#include <stddef.h>
#include <stdint.h>
#include <type_traits>

#include "sync.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

} // namespace cuda

namespace simt {

SIMT_INLINE void fence_of(cuda::thread_scope scope) {
    if (scope != cuda::thread_scope_thread) {
        simt_fence(scope == cuda::thread_scope_block    ? SIMT_FENCE_BLOCK
                   : scope == cuda::thread_scope_device ? SIMT_FENCE_DEVICE
                                                        : SIMT_FENCE_SYSTEM);
    }
}
/* The orders that release what the thread has written. An acquire needs no fence: checks/acquire_release.c. */
SIMT_INLINE void release_by(cuda::memory_order order, cuda::thread_scope scope) {
    if (order >= cuda::memory_order_release) { fence_of(scope); }
}

} // namespace simt

namespace cuda {
SIMT_INLINE void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
    if (order != memory_order_relaxed) { simt::fence_of(scope); }
}
} // namespace cuda

#endif

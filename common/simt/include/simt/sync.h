/* sync.h — block barriers, fences, and waiting. */
#ifndef SIMT_SYNC_H
#define SIMT_SYNC_H

#include "boundary.h"

#ifndef __CUDA__ /* clang's CUDA, in an editor, has declared it */
SIMT_INLINE void __syncthreads() {
    simt_barrier(SIMT_SYNC_PLAIN, 0);
}
#endif
SIMT_INLINE int __syncthreads_and(int predicate) {
    return simt_barrier(SIMT_SYNC_AND, predicate);
}
SIMT_INLINE int __syncthreads_or(int predicate) {
    return simt_barrier(SIMT_SYNC_OR, predicate);
}
SIMT_INLINE int __syncthreads_count(int predicate) {
    return simt_barrier(SIMT_SYNC_COUNT, predicate);
}

SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
    simt_collective(SIMT_COLLECT_SYNCWARP, 0, mask, 0, 0, 32);
}

SIMT_INLINE void __threadfence_block() {
    simt_fence(SIMT_FENCE_BLOCK);
}
SIMT_INLINE void __threadfence() {
    simt_fence(SIMT_FENCE_DEVICE);
}
SIMT_INLINE void __threadfence_system() {
    simt_fence(SIMT_FENCE_SYSTEM);
}

/* Programmatic dependent launch: kernels run one after another here, so the previous one has always ended. */
SIMT_INLINE void cudaGridDependencySynchronize() {}
SIMT_INLINE void cudaTriggerProgrammaticLaunchCompletion() {}

SIMT_INLINE void __nanosleep(unsigned) {
    simt_yield();
}

#endif

/* boundary.h — the functions of the runtime library that the headers call. All names are prefixed: every CUDA source sees them.
 *
 * The functions are those of engine/internal.h, with the same prototypes; api/boundary.c includes both files, so that the
 * compiler compares the prototypes, and checks that the numbers agree.
 *
 * SIMT_INLINE: a wrapper that is always inlined, so that the return address that the runtime sees lies in the learner's
 * own line.
 */
#ifndef SIMT_BOUNDARY_H
#define SIMT_BOUNDARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SIMT_INLINE  static inline __attribute__((always_inline))
#define SIMT_MEMBER  __attribute__((always_inline)) inline /* of a class */
#define SIMT_NOTHROW noexcept
extern "C" {
#else
#define SIMT_INLINE static inline
#define SIMT_NOTHROW
#endif

enum { SIMT_SYNC_PLAIN, SIMT_SYNC_AND, SIMT_SYNC_OR, SIMT_SYNC_COUNT };
enum { SIMT_COLLECT_SHUFFLE, SIMT_COLLECT_VOTE, SIMT_COLLECT_MATCH, SIMT_COLLECT_REDUCE, SIMT_COLLECT_SYNCWARP };
enum { SIMT_SHUFFLE_INDEX, SIMT_SHUFFLE_UP, SIMT_SHUFFLE_DOWN, SIMT_SHUFFLE_XOR };
enum { SIMT_VOTE_ANY, SIMT_VOTE_ALL, SIMT_VOTE_BALLOT, SIMT_VOTE_UNI };
enum { SIMT_MATCH_ANY, SIMT_MATCH_ALL };
enum {
    SIMT_REDUCE_ADD,
    SIMT_REDUCE_MIN_S,
    SIMT_REDUCE_MAX_S,
    SIMT_REDUCE_MIN_U,
    SIMT_REDUCE_MAX_U,
    SIMT_REDUCE_AND,
    SIMT_REDUCE_OR,
    SIMT_REDUCE_XOR,
};
enum { SIMT_FENCE_BLOCK, SIMT_FENCE_DEVICE, SIMT_FENCE_SYSTEM };

enum {
    SIMT_ATOMIC_ADD,
    SIMT_ATOMIC_EXCH,
    SIMT_ATOMIC_CAS,
    SIMT_ATOMIC_MIN,
    SIMT_ATOMIC_MAX,
    SIMT_ATOMIC_AND,
    SIMT_ATOMIC_OR,
    SIMT_ATOMIC_XOR,
    SIMT_ATOMIC_INC,
    SIMT_ATOMIC_DEC,
};
enum {
    SIMT_TYPE_I32,
    SIMT_TYPE_U32,
    SIMT_TYPE_I64,
    SIMT_TYPE_U64,
    SIMT_TYPE_F32,
    SIMT_TYPE_F64,
    SIMT_TYPE_F16,
    SIMT_TYPE_BF16,
    SIMT_TYPE_F16X2,
    SIMT_TYPE_BF16X2,
    SIMT_TYPE_B16,
};

/* A call of a collective in one word, most of which the compiler computes. */
#define SIMT_CALL(kind, mode, width, source) \
    ((uint32_t)(kind) | (uint32_t)(mode) << 4 | (uint32_t)(width) << 8 | (uint32_t)((source)&31) << 16)

/* Barriers and collectives: engine/barrier.c, engine/collective.c. Values are passed in the low bytes. */
int simt_barrier(int mode, int predicate) SIMT_NOTHROW;
uint64_t simt_meet(uint32_t call, uint32_t mask, uint64_t value) SIMT_NOTHROW;
unsigned simt_activemask(void) SIMT_NOTHROW;
void simt_grid_barrier(void) SIMT_NOTHROW;
void simt_fence(int scope) SIMT_NOTHROW;
void simt_yield(void) SIMT_NOTHROW;
bool simt_on_device(void) SIMT_NOTHROW;
void *simt_shared_variable(const void *site, const char *name, size_t size, size_t align) SIMT_NOTHROW;
void *simt_dynamic_shared(void) SIMT_NOTHROW;

SIMT_INLINE uint64_t simt_collective(int kind, int mode, unsigned mask, uint64_t value, unsigned source, int width) {
    return simt_meet(SIMT_CALL(kind, mode, width, source), mask, value);
}

#ifdef __cplusplus
}
#endif
#endif

/* atomic.h — atomic functions on all types that CUDA supports; half and bfloat16 follow in half.h and bfloat.h.
 *
 * The _block and _system forms are the same operation: the backend orders all atomics of a launch.
 */
#ifndef SIMT_ATOMIC_H
#define SIMT_ATOMIC_H

#include "boundary.h"
#include "vector.h"
#include "warp.h"

/* engine/atomic.c, where `op` and `type` are enums. */
extern "C" uint64_t simt_atomic(int op, int type, void *address, uint64_t operand, uint64_t compare) noexcept;

namespace simt {
template <class T> SIMT_INLINE T atomic(int op, int type, T *address, T operand) {
    return from_bits<T>(simt_atomic(op, type, address, to_bits(operand), 0));
}
template <class T> SIMT_INLINE T compare_and_swap(int type, T *address, T expected, T desired) {
    return from_bits<T>(simt_atomic(SIMT_ATOMIC_CAS, type, address, to_bits(desired), to_bits(expected)));
}
} // namespace simt

#define SIMT_ATOMIC_FORM(name, T, op, type)            \
    SIMT_INLINE T name(T *address, T value) {          \
        return simt::atomic(op, type, address, value); \
    }
#define SIMT_ATOMIC(name, T, op, type)                        \
    SIMT_ATOMIC_FORM(name, T, SIMT_ATOMIC_##op, type)         \
    SIMT_ATOMIC_FORM(name##_block, T, SIMT_ATOMIC_##op, type) \
    SIMT_ATOMIC_FORM(name##_system, T, SIMT_ATOMIC_##op, type)

#define SIMT_ATOMIC_INTEGER(name, op)                  \
    SIMT_ATOMIC(name, int, op, SIMT_TYPE_I32)          \
    SIMT_ATOMIC(name, unsigned int, op, SIMT_TYPE_U32) \
    SIMT_ATOMIC(name, unsigned long long, op, SIMT_TYPE_U64)

SIMT_ATOMIC_INTEGER(atomicAdd, ADD)
SIMT_ATOMIC(atomicAdd, float, ADD, SIMT_TYPE_F32)
SIMT_ATOMIC(atomicAdd, double, ADD, SIMT_TYPE_F64)

SIMT_ATOMIC_INTEGER(atomicExch, EXCH)
SIMT_ATOMIC(atomicExch, float, EXCH, SIMT_TYPE_F32)

SIMT_ATOMIC_INTEGER(atomicMin, MIN)
SIMT_ATOMIC(atomicMin, long long, MIN, SIMT_TYPE_I64)
SIMT_ATOMIC_INTEGER(atomicMax, MAX)
SIMT_ATOMIC(atomicMax, long long, MAX, SIMT_TYPE_I64)

SIMT_ATOMIC_INTEGER(atomicAnd, AND)
SIMT_ATOMIC_INTEGER(atomicOr, OR)
SIMT_ATOMIC_INTEGER(atomicXor, XOR)

SIMT_ATOMIC(atomicInc, unsigned int, INC, SIMT_TYPE_U32)
SIMT_ATOMIC(atomicDec, unsigned int, DEC, SIMT_TYPE_U32)

/* CUDA has no atomicSub on 64 bits; two's complement makes it an addition. */
#define SIMT_ATOMIC_SUB(name, T, type)                                                                          \
    SIMT_INLINE T name(T *address, T value) {                                                                   \
        return simt::atomic(SIMT_ATOMIC_ADD, type, address, static_cast<T>(0u - static_cast<unsigned>(value))); \
    }
SIMT_ATOMIC_SUB(atomicSub, int, SIMT_TYPE_I32)
SIMT_ATOMIC_SUB(atomicSub, unsigned int, SIMT_TYPE_U32)
SIMT_ATOMIC_SUB(atomicSub_block, int, SIMT_TYPE_I32)
SIMT_ATOMIC_SUB(atomicSub_block, unsigned int, SIMT_TYPE_U32)
SIMT_ATOMIC_SUB(atomicSub_system, int, SIMT_TYPE_I32)
SIMT_ATOMIC_SUB(atomicSub_system, unsigned int, SIMT_TYPE_U32)
#undef SIMT_ATOMIC_SUB

#define SIMT_CAS_FORM(name, T, type)                                     \
    SIMT_INLINE T name(T *address, T expected, T desired) {              \
        return simt::compare_and_swap(type, address, expected, desired); \
    }
#define SIMT_CAS(T, type)                   \
    SIMT_CAS_FORM(atomicCAS, T, type)       \
    SIMT_CAS_FORM(atomicCAS_block, T, type) \
    SIMT_CAS_FORM(atomicCAS_system, T, type)
SIMT_CAS(int, SIMT_TYPE_I32)
SIMT_CAS(unsigned int, SIMT_TYPE_U32)
SIMT_CAS(unsigned long long, SIMT_TYPE_U64)
SIMT_CAS(unsigned short, SIMT_TYPE_B16)
#undef SIMT_CAS
#undef SIMT_CAS_FORM

/* Compute capability 9.0: each member is added atomically, the vector as a whole is not. */
#define SIMT_ATOMIC_VECTOR(name)                                                                          \
    SIMT_INLINE float2 name(float2 *address, float2 value) {                                              \
        return float2{name(&address->x, value.x), name(&address->y, value.y)};                            \
    }                                                                                                     \
    SIMT_INLINE float4 name(float4 *address, float4 value) {                                              \
        return float4{name(&address->x, value.x), name(&address->y, value.y), name(&address->z, value.z), \
                      name(&address->w, value.w)};                                                        \
    }
SIMT_ATOMIC_VECTOR(atomicAdd)
SIMT_ATOMIC_VECTOR(atomicAdd_block)
SIMT_ATOMIC_VECTOR(atomicAdd_system)
#undef SIMT_ATOMIC_VECTOR

#endif

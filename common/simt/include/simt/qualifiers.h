/* qualifiers.h — CUDA's specifiers of functions and variables.
 *
 * In a CUDA source (__CUDACC__) __global__, __device__, __host__, __constant__, __shared__, __managed__ and
 * __noinline__ are not defined here: the translator removes them from the preprocessed text. (As a macro,
 * __noinline__ would break the C++ library's own __attribute__((__noinline__)).) In plain C++ they are empty.
 */
#ifndef SIMT_QUALIFIERS_H
#define SIMT_QUALIFIERS_H

#if defined(__cplusplus) && !defined(__CUDACC__)
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#endif

#ifdef __cplusplus
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __nv_pure__ __attribute__((pure))
#endif

#define __align__(bytes)         __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI

/* An assumption is not evaluated, so it makes no memory access, as under nvcc. */
#define __builtin_assume(condition) ((void)sizeof((condition) ? 1 : 0))
#define __assume(condition)         ((void)sizeof((condition) ? 1 : 0))
/* Code that gets there ends, and does not run on into other code. */
#define __builtin_unreachable() __builtin_trap()

#endif

/* qualifiers.h — CUDA's words for functions and variables, as far as they are left after translation.
 *
 * The translator takes __shared__ away, registers __device__ and __constant__ variables, and maps __noinline__ (as a
 * macro it would break the C++ library's own __attribute__((__noinline__))).
 */
#ifndef SIMT_QUALIFIERS_H
#define SIMT_QUALIFIERS_H

#ifdef __cplusplus
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __nv_pure__ __attribute__((pure))
#endif

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI

/* An assumption is not evaluated, so it makes no memory access, as under nvcc. */
#define __builtin_assume(condition) ((void)sizeof((condition) ? 1 : 0))
#define __assume(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

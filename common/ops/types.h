/* types.h — the rules that the contracts of all launchers share.
 *
 * Name      op_f32, op_f16, op_bf16: T is float, __half, __nv_bfloat16. A lab asks for the types that its skeleton
 *           defines. The math, sums and statistics are fp32 or wider in all three; a result is rounded once, to nearest
 *           even, when it is stored.
 * Order     outputs, const inputs, sizes, stream. All pointers are device pointers, all tensors row-major and dense.
 * Pointers  aligned to their element, no more. Multiples of 16 bytes are the fast path; the results are the same.
 * Elements  N and C are ints, but a tensor may have more elements than an int counts: (size_t)n * C + c.
 * Aliasing  only where a contract allows it, and then with the same pointer; partial overlap is never allowed.
 * Stream    all work is done in the order of the given stream, and the launcher does not wait for it. Work on another
 *           stream starts after an event of the given one, which waits for that work before the launcher returns.
 *           Memory may come from cudaMallocAsync, and is freed by cudaFreeAsync.
 * Sums      in any order. Where a contract says that the order is fixed, the same call, with the same pointers and
 *           values, gives the same bits.
 * Range     no sum, square or product within a result leaves the range of fp32. NaN, infinities: see each contract.
 * Returns   0 (cudaSuccess), or a launch's cudaError_t. With no rows (N == 0, or B * H == 0) the launcher does nothing
 *           and succeeds, whatever the pointers are. Not called with a negative size, no columns (C or T < 1), or a
 *           null pointer for a tensor that has elements: what a launcher then returns is its own affair.
 * Zeros     +0 and -0 are the same result. Denormal fp32 numbers are kept: the labs compile without -ftz.
 *
 * A file that defines a launcher for a 16-bit type includes cuda_fp16.h and cuda_bf16.h.
 */
#ifndef CONTRACT_TYPES_H
#define CONTRACT_TYPES_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
struct __half;
struct __nv_bfloat16;
#else
typedef struct __half __half;
typedef struct __nv_bfloat16 __nv_bfloat16;
#endif

/* How a causal op treats the elements above the diagonal. */
enum {
    CAUSAL_UPPER_ZERO = 0, /* zeros */
    CAUSAL_UPPER_KEEP = 1, /* unchanged: neither read nor written (a buffer prepared once) */
};

#endif

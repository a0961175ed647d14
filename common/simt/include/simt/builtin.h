/* builtin.h — threadIdx, blockIdx, blockDim, gridDim, warpSize.
 *
 * Constant thread-local variables that the scheduler sets at every switch: reading them is no memory access for the
 * checks, they can be shadowed, and gridDim may be the name of a host variable. All are plain uint3, which converts to
 * dim3: g++ does not treat a type with constructors as constant.
 */
#ifndef SIMT_BUILTIN_H
#define SIMT_BUILTIN_H

#include "vector.h"

extern "C" {
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const __thread uint3 blockDim; /* not dim3: reading an object with constructors would be an access */
extern const __thread uint3 gridDim;
extern const int warpSize;
}

#endif

/* editor.h — CUDA for clangd without a CUDA toolkit: included first by lab/compile_flags.txt.
 *
 * clang parses kernels and launches by itself, and takes the declarations from the backend. In clang's CUDA a kernel may call
 * only device functions, so the backend's functions, and those of the C and C++ libraries, are declared for both sides.
 * No program is compiled with this header.
 */
#ifndef SIMT_EDITOR_H
#define SIMT_EDITOR_H

#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __host__     __attribute__((host))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))

#pragma clang force_cuda_host_device begin
#include <cstdlib>
#pragma clang force_cuda_host_device end

#include <new> /* clang's own declares both sides */

#pragma clang force_cuda_host_device begin
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#define SIMT_HEAP_H /* malloc and free are those of the C library */
#include <simt/prelude.h>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#pragma clang force_cuda_host_device end

#undef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

/* What clang calls for <<<...>>>. */
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0, void *stream = nullptr);

#endif

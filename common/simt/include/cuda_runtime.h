/* cuda_runtime.h — CUDA C++ on the CPU backend: built-in variables, device functions, runtime API. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__ /* by this, programs see that the header is included */

#include "simt/heap.h"

#if defined(__cplusplus) && defined(__CUDACC__)
#include <stddef.h>

/* The C++ library copies by these: std::copy in a kernel is counted as memmove is (simt/memory.h). */
extern "C" void *simt_memmove(void *to, const void *from, size_t bytes) noexcept;
extern "C" void *simt_memset(void *to, int value, size_t bytes) noexcept;
#define __builtin_memmove simt_memmove
#define __builtin_memset  simt_memset
#endif

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>
#endif

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include "simt/absent.h"
#include "simt/api.h"
#include "simt/atomic.h"
#include "simt/bits.h"
#include "simt/builtin.h"
#include "simt/cache.h"
#include "simt/clock.h"
#include "simt/convert.h"
#include "simt/launch.h"
#include "simt/math.h"
#include "simt/sync.h"
#include "simt/warp.h"

#include "simt/memory.h"
#endif

#endif

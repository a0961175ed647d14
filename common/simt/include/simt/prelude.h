/* prelude.h — included first in every translated source: the declarations that nvcc provides without an #include. */
#ifndef SIMT_PRELUDE_H
#define SIMT_PRELUDE_H

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#define __NVCC__                     1
#define __CUDACC_VER_MAJOR__         13
#define __CUDACC_VER_MINOR__         0
#define __CUDACC_VER_BUILD__         0
#define __CUDACC_EXTENDED_LAMBDA__   1
#define __CUDACC_RELAXED_CONSTEXPR__ 1

/* Device code tests this number. -D__CUDA_ARCH__=750 selects another device. simt-cc preprocesses a source that tests it a
 * second time, as host code sees it (translate/sides.c). */
#ifdef SIMT_HOST_SIDE
#undef __CUDA_ARCH__
#elif !defined(__CUDA_ARCH__)
#define __CUDA_ARCH__ 900
#endif

/* For sources that must distinguish the CPU backend. */
#define SIMT_CPU_BACKEND 1

#include <cuda_runtime.h>

#endif

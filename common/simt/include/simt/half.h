/* half.h — __half and __half2: IEEE 754 binary16, every operation rounded once, on the host as in kernels. */
#ifndef SIMT_HALF_H
#define SIMT_HALF_H

#include <math.h>

#include "atomic.h"
#include "cache.h"
#include "convert.h"
#include "minifloat.h"
#include "vector.h"
#include "warp.h"

#define MINI                __half
#define MINI2               __half2
#define MINI_RAW            __half_raw
#define MINI2_RAW           __half2_raw
#define MINI_CALL(name)     simt_half_##name
#define MINI_NAME(a, b)     a##half##b
#define MINI_TWICE(a, b, c) a##half##b##half##c
#define MINI_ATOMIC         SIMT_TYPE_F16
#define MINI2_ATOMIC        SIMT_TYPE_F16X2
#include "minifloat_type.h"

#include "minifloat_arithmetic.h"

#include "minifloat_convert.h" /* undefines these macros */

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16        __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16        __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16   __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16       __ushort_as_half(0x0000)
#define CUDART_ONE_FP16        __ushort_as_half(0x3c00)

#endif

/* bfloat.h — __nv_bfloat16 and __nv_bfloat162: the upper half of a float, every operation rounded once, on the host
 * as in kernels. */
#ifndef SIMT_BFLOAT_H
#define SIMT_BFLOAT_H

#include <math.h>

#include "atomic.h"
#include "cache.h"
#include "convert.h"
#include "minifloat.h"
#include "vector.h"
#include "warp.h"

#define MINI                __nv_bfloat16
#define MINI2               __nv_bfloat162
#define MINI_RAW            __nv_bfloat16_raw
#define MINI2_RAW           __nv_bfloat162_raw
#define MINI_CALL(name)     simt_bfloat_##name
#define MINI_NAME(a, b)     a##bfloat16##b
#define MINI_TWICE(a, b, c) a##bfloat16##b##bfloat16##c
#define MINI_ATOMIC         SIMT_TYPE_BF16
#define MINI2_ATOMIC        SIMT_TYPE_BF16X2
#include "minifloat_type.h"

#include "minifloat_arithmetic.h"

#include "minifloat_convert.h" /* undefines these macros */

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16        __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16        __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16   __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16       __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16        __ushort_as_bfloat16(0x3f80)

#endif

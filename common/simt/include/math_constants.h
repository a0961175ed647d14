/* math_constants.h — special values and mathematical constants under CUDA's names; _F is float. */
#ifndef MATH_CONSTANTS_H
#define MATH_CONSTANTS_H

#include "simt/convert.h"

#define CUDART_INF_F            __uint_as_float(0x7f800000u)
#define CUDART_NAN_F            __uint_as_float(0x7fffffffu)
#define CUDART_MIN_DENORM_F     __uint_as_float(0x00000001u)
#define CUDART_MAX_NORMAL_F     __uint_as_float(0x7f7fffffu)
#define CUDART_NEG_ZERO_F       __uint_as_float(0x80000000u)
#define CUDART_ZERO_F           0.0f
#define CUDART_ONE_F            1.0f
#define CUDART_SQRT_HALF_F      0.70710678118654752440f
#define CUDART_SQRT_TWO_F       1.41421356237309504880f
#define CUDART_THIRD_F          0.33333333333333333333f
#define CUDART_PIO4_F           0.78539816339744830962f
#define CUDART_PIO2_F           1.57079632679489661923f
#define CUDART_3PIO4_F          2.35619449019234492885f
#define CUDART_2_OVER_PI_F      0.63661977236758134308f
#define CUDART_SQRT_2_OVER_PI_F 0.79788456080286535588f
#define CUDART_PI_F             3.14159265358979323846f
#define CUDART_L2E_F            1.44269504088896340736f
#define CUDART_L2T_F            3.32192809488736234787f
#define CUDART_LG2_F            0.30102999566398119521f
#define CUDART_LGE_F            0.43429448190325182765f
#define CUDART_LN2_F            0.69314718055994530942f
#define CUDART_LNT_F            2.30258509299404568402f
#define CUDART_LNPI_F           1.14472988584940017414f

#define CUDART_INF            __longlong_as_double(static_cast<long long>(0x7ff0000000000000ull))
#define CUDART_NAN            __longlong_as_double(static_cast<long long>(0xfff8000000000000ull))
#define CUDART_MIN_DENORM     __longlong_as_double(static_cast<long long>(0x0000000000000001ull))
#define CUDART_MAX_NORMAL     __longlong_as_double(static_cast<long long>(0x7fefffffffffffffull))
#define CUDART_NEG_ZERO       __longlong_as_double(static_cast<long long>(0x8000000000000000ull))
#define CUDART_ZERO           0.0
#define CUDART_ONE            1.0
#define CUDART_SQRT_HALF      0.70710678118654752440
#define CUDART_SQRT_TWO       1.41421356237309504880
#define CUDART_THIRD          0.33333333333333333333
#define CUDART_PIO4           0.78539816339744830962
#define CUDART_PIO2           1.57079632679489661923
#define CUDART_3PIO4          2.35619449019234492885
#define CUDART_2_OVER_PI      0.63661977236758134308
#define CUDART_SQRT_2_OVER_PI 0.79788456080286535588
#define CUDART_PI             3.14159265358979323846
#define CUDART_L2E            1.44269504088896340736
#define CUDART_L2T            3.32192809488736234787
#define CUDART_LG2            0.30102999566398119521
#define CUDART_LGE            0.43429448190325182765
#define CUDART_LN2            0.69314718055994530942
#define CUDART_LNT            2.30258509299404568402
#define CUDART_LNPI           1.14472988584940017414

#endif

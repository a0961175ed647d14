/* cuda_fp16.h — half precision. */
#ifndef CUDA_FP16_H
#define CUDA_FP16_H
#define __CUDA_FP16_H__ /* by this, programs see that the header is included */

#include "simt/half.h"

#endif

/* cuda_fp16.h — half precision. */
#ifndef CUDA_FP16_H
#define CUDA_FP16_H

#include "simt/half.h"

#endif

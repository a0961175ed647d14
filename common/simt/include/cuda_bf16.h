/* cuda_bf16.h — bfloat16. */
#ifndef CUDA_BF16_H
#define CUDA_BF16_H

#include "simt/bfloat.h"

#endif

/* cuda_bf16.h — bfloat16. */
#ifndef CUDA_BF16_H
#define CUDA_BF16_H
#define __CUDA_BF16_H__ /* by this, programs see that the header is included */

#include "simt/bfloat.h"

#endif

/* cuda_device_runtime_api.h — part of cuda_runtime.h here, as in CUDA. */
#include "cuda_runtime_api.h"

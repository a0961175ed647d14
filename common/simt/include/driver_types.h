/* driver_types.h — part of cuda_runtime.h here, as in CUDA. */
#include "simt/driver_types.h"

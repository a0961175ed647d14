/* host_defines.h — part of cuda_runtime.h here, as in CUDA. */
#include "simt/qualifiers.h"

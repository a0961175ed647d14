/* math_functions.h — part of cuda_runtime.h here, as in CUDA. */
#include "cuda_runtime.h"

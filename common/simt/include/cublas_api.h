/* cublas_api.h — part of cublas_v2.h here, as in CUDA. */
#include "cublas_v2.h"

/* cublas.h — not in this backend: it is the interface from before CUDA 4. */
#error "the CPU backend has no cublas.h: include cublas_v2.h"

/* cuda_fp6.h — not in this backend. */
#error "the CPU backend has no 6-bit floating point: use cuda_fp16.h or cuda_bf16.h"

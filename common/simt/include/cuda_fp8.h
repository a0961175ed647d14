/* cuda_fp8.h — not in this backend. */
#error "the CPU backend has no 8-bit floating point: use cuda_fp16.h or cuda_bf16.h"

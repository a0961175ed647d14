/* cuda_awbarrier.h — not in this backend. */
#error "the CPU backend has no asynchronous barriers: use __syncthreads()"

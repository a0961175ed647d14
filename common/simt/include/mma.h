/* mma.h — not in this backend. */
#error "the CPU backend has no tensor cores (mma.h): multiply with fused multiply-adds"

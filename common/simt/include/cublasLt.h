/* cublasLt.h — not in this backend. */
#error "the CPU backend has no cuBLASLt: write the product as a kernel"

/* cublas.h — not in this backend. */
#error "the CPU backend has no cuBLAS: write the product as a kernel"

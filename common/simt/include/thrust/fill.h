/* thrust/fill.h — not in this backend. */
#error "the CPU backend has no Thrust: use cudaMemset or a kernel"

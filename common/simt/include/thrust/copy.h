/* thrust/copy.h — not in this backend. */
#error "the CPU backend has no Thrust: use cudaMemcpy"

/* thrust/extrema.h — not in this backend. */
#error "the CPU backend has no Thrust: write the reduction as a kernel"

/* thrust/device_vector.h — not in this backend. */
#error "the CPU backend has no Thrust: use cudaMalloc and cudaMemcpy"

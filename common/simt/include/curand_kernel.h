/* curand_kernel.h — not in this backend. */
#error "the CPU backend has no cuRAND: write a small generator, such as a hash of the index (Philox or PCG)"

/* cufft.h — not in this backend. */
#error "the CPU backend has no cuFFT: write the transform as a kernel"

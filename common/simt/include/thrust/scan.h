/* thrust/scan.h — not in this backend. */
#error "the CPU backend has no Thrust: write the scan as a kernel"

/* cusparse.h — not in this backend. */
#error "the CPU backend has no cuSPARSE: write the operation as a kernel"

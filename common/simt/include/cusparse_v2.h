/* cusparse_v2.h — not in this backend. */
#error "the CPU backend has no cuSPARSE: write the operation as a kernel"

/* cusolverDn.h — not in this backend. */
#error "the CPU backend has no cuSOLVER: write the solver as a kernel"

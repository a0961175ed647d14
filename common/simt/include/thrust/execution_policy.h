/* thrust/execution_policy.h — not in this backend. */
#error "the CPU backend has no Thrust: write the loop as a kernel"

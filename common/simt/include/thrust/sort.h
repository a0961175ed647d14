/* thrust/sort.h — not in this backend. */
#error "the CPU backend has no Thrust: write the sort as a kernel, or sort on the host"

/* thrust/host_vector.h — not in this backend. */
#error "the CPU backend has no Thrust: use std::vector"

/* thrust/random.h — not in this backend. */
#error "the CPU backend has no Thrust: use <random> on the host"

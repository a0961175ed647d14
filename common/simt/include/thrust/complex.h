/* thrust/complex.h — not in this backend. */
#error "the CPU backend has no Thrust: use float2"

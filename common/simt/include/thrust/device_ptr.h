/* thrust/device_ptr.h — not in this backend. */
#error "the CPU backend has no Thrust: use a plain pointer"

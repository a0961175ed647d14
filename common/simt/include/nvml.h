/* nvml.h — not in this backend. */
#error "the CPU backend has no NVML: there is no GPU to ask"

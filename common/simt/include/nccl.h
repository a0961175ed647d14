/* nccl.h — not in this backend. */
#error "the CPU backend has no NCCL: there is one device"

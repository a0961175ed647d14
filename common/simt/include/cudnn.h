/* cudnn.h — not in this backend. */
#error "the CPU backend has no cuDNN: write the operation as a kernel"

/* nvrtc.h — not in this backend. */
#error "the CPU backend has no run-time compilation: compile the kernel with the program"

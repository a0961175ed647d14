/* cuda_gl_interop.h — not in this backend. */
#error "the CPU backend has no OpenGL interoperation: copy the result to the host"

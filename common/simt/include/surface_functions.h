/* surface_functions.h — not in this backend. */
#error "the CPU backend has no surfaces: write global memory"

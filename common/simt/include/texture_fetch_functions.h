/* texture_fetch_functions.h — not in this backend. */
#error "the CPU backend has no textures: read global memory"

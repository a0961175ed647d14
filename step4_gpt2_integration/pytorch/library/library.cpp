// library.cpp — see library.h. COURSE_SOURCES is the text of course_library_sources().
#include "library.h"

static course_library_allocator allocate;

int course_library_version() {
    return COURSE_LIBRARY_VERSION;
}

const char *course_library_sources() {
    return COURSE_SOURCES;
}

const char *course_library_error(int status) {
    return cudaGetErrorString((cudaError_t)status);
}

int course_library_device(int device) {
    return cudaSetDevice(device);
}

void course_library_allocate_with(course_library_allocator allocator) {
    allocate = allocator;
}

// The launchers of step3_fused/solution get their workspace here (speed_of_light/scratch.cuh).
extern "C" void *scratch_from_caller(size_t bytes, cudaStream_t stream);
void *scratch_from_caller(size_t bytes, cudaStream_t stream) {
    return allocate ? allocate(bytes, stream) : nullptr;
}

/* library.h — what the Python binding calls besides the launchers of common/ops. */
#ifndef COURSE_LIBRARY_H
#define COURSE_LIBRARY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { COURSE_LIBRARY_VERSION = 1 };

/* The version of this interface at the library's build. */
int course_library_version(void);

/* The .cu files of the library, each with the folder that it comes from: "softmax.cu=step3_fused/solution; ...". */
const char *course_library_sources(void);

/* The text of a launcher's result. */
const char *course_library_error(int status);

/* Makes `device` the current one of this thread, for the library's own CUDA runtime. Returns a cudaError_t. */
int course_library_device(int device);

/* Memory for `bytes` bytes, for work that is enqueued on `stream` until the launcher returns; null if there is none. The
 * caller of a launcher owns it and may free it in the order of the stream. */
typedef void *(*course_library_allocator)(size_t bytes, cudaStream_t stream);
void course_library_allocate_with(course_library_allocator allocator);

#ifdef __cplusplus
}
#endif

#endif

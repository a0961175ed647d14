/* Headers by themselves: each compiles alone, in C where CUDA's does, without a warning; and what the backend lacks is a
 * compile error that names it. */
#include <stdlib.h>
#include <unistd.h>

#include "findings.h"

TestSuite(headers, .timeout = 120);

enum { OUTPUT = 8192 };

/* Compiles the text; returns the compiler's status, its messages in `output`. */
static int compile(const char *language, const char *text, char output[OUTPUT]) {
    char source[] = "/tmp/headersXXXXXX", command[512];
    int file = mkstemp(source);
    cr_assert(file >= 0);
    FILE *stream = fdopen(file, "w");
    fputs(text, stream);
    fclose(stream);
    const char *compiler = getenv("CXX") ? getenv("CXX") : "g++";
    snprintf(command, sizeof command,
             "%s -x %s -O1 -Wall -Wextra -Wpedantic -Werror -Icommon/simt/include -c -o /dev/null %s 2>&1", compiler,
             language, source);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t length = fread(output, 1, OUTPUT - 1, pipe);
    output[length] = 0;
    int status = pclose(pipe);
    unlink(source);
    return status;
}

Test(headers, each_compiles_alone) {
    static const char *const headers[] = {
        "builtin_types.h",
        "cooperative_groups.h",
        "cooperative_groups/memcpy_async.h",
        "cooperative_groups/reduce.h",
        "cooperative_groups/scan.h",
        "cuComplex.h",
        "cuda.h",
        "cuda_bf16.h",
        "cuda_fp16.h",
        "cuda_pipeline.h",
        "cuda_profiler_api.h",
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "device_functions.h",
        "device_launch_parameters.h",
        "driver_types.h",
        "host_defines.h",
        "math_constants.h",
        "math_functions.h",
        "nvToolsExt.h",
        "sm_30_intrinsics.h",
        "sm_60_atomic_functions.h",
        "vector_functions.h",
        "vector_types.h",
    };
    char text[200], output[OUTPUT];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(text, sizeof text, "#include <%s>\nint defined_here;\n", headers[i]);
        cr_expect_eq(compile("c++ -std=c++17", text, output), 0, "%s: %s", headers[i], output);
    }
}

Test(headers, host_code_in_c_has_the_runtime_api) {
    static const char *const headers[] = {"cuda_runtime_api.h", "cuda_runtime.h", "cuda.h",
                                          "driver_types.h",     "vector_types.h", "cuComplex.h"};
    char text[200], output[OUTPUT];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(text, sizeof text, "#include <%s>\nint defined_here;\n", headers[i]);
        cr_expect_eq(compile("c -std=c17", text, output), 0, "%s: %s", headers[i], output);
    }
}

Test(headers, what_is_absent_is_named) {
    static const struct {
        const char *text, *message;
    } absent[] = {
        {"#include <curand_kernel.h>\n", "the CPU backend has no cuRAND"},
        {"#include <cublas.h>\n", "include cublas_v2.h"},
        {"#include <mma.h>\n", "the CPU backend has no tensor cores"},
        {"#include <thrust/device_vector.h>\n", "the CPU backend has no Thrust"},
        {"#include <cub/cub.cuh>\n", "the CPU backend has no CUB"},
        {"#include <cuda/barrier>\n", "the CPU backend has no cuda::barrier"},
        {"#include <cuda_runtime.h>\nint f(float v) { return __shfl_down(v, 1); }\n", "use __shfl_down_sync"},
        {"#include <cuda_runtime.h>\nint f(int *p) { return cudaMallocArray(p, 1); }\n",
         "the CPU backend has no arrays and textures"},
        {"#include <cuda_runtime.h>\nint f(int *g) { return cudaGraphAddKernelNode(g, 0); }\n",
         "capture a stream with cudaStreamBeginCapture"},
        {"#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n"
         "unsigned f() { return tiled_partition<64>(this_thread_block()).size(); }\n",
         "the CPU backend has no tiles of more than 32 threads"},
    };
    char output[OUTPUT];
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        cr_expect_neq(compile("c++ -std=c++17", absent[i].text, output), 0, "%s", absent[i].text);
        cr_expect(strstr(output, absent[i].message), "no '%s' in: %s", absent[i].message, output);
    }
}

/* The headers: each compiles alone without a warning, as C where CUDA's does. A missing header or function is a compile
 * error that names it. */
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
    const char *build = getenv("BUILD") ? getenv("BUILD") : BUILD_FOLDER;
    snprintf(
        command, sizeof command,
        "%s -x %s -O1 -Wall -Wextra -Wpedantic -Werror -Icommon/simt/include -I%s/simt/include -c -o /dev/null %s 2>&1",
        compiler, language, build, source);
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
        "cooperative_groups.h",
        "cooperative_groups/memcpy_async.h",
        "cooperative_groups/reduce.h",
        "cooperative_groups/scan.h",
        "cuComplex.h",
        "cuda.h",
        "cuda/atomic",
        "cuda/barrier",
        "cuda/pipeline",
        "cuda_bf16.h",
        "cuda_fp16.h",
        "cuda_pipeline_primitives.h",
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "driver_types.h",
        "host_defines.h",
        "math_constants.h",
        "mma.h",
        "nvToolsExt.h",
        "vector_types.h",
    };
    char text[200], output[OUTPUT];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(text, sizeof text, "#include <%s>\nint defined_here;\n", headers[i]);
        cr_expect_eq(compile("c++ -std=c++17", text, output), 0, "%s: %s", headers[i], output);
    }
}

/* Helper headers of many programs offer a function only where CUDA's header is included, which they see by its guard. */
Test(headers, each_defines_cudas_guard) {
    static const char *const headers[][2] = {
        {"cublas_v2.h", "CUBLAS_API_H_"},         {"cublas_v2.h", "CUBLAS_V2_H_"},
        {"cuda_bf16.h", "__CUDA_BF16_H__"},       {"cuda_fp16.h", "__CUDA_FP16_H__"},
        {"cuda_runtime.h", "__CUDA_RUNTIME_H__"}, {"cuda_runtime_api.h", "__CUDA_RUNTIME_API_H__"},
        {"driver_types.h", "__DRIVER_TYPES_H__"}, {"cuda_runtime.h", "__DRIVER_TYPES_H__"},
    };
    char text[200], output[OUTPUT];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(text, sizeof text, "#include <%s>\n#ifndef %s\n#error no guard\n#endif\nint defined_here;\n",
                 headers[i][0], headers[i][1]);
        cr_expect_eq(compile("c++ -std=c++17", text, output), 0, "%s: %s", headers[i][1], output);
    }
}

/* What such helpers call to choose a device. */
Test(headers, functions_that_choose_a_device) {
    char output[OUTPUT];
    cr_expect_eq(
        compile("c++ -std=c++17",
                "#include <cuda_runtime.h>\n#include <cublas_v2.h>\n"
                "const char *name(cudaError_t error) { return cudaGetErrorName(error); }\n"
                "const char *name(cublasStatus_t error) { return cublasGetStatusName(error); }\n"
                "int choose() {\n    int count, mode, major, minor, processors, clock, integrated, best = -1;\n"
                "    if (cudaGetDeviceCount(&count)) { return -1; }\n    for (int d = 0; d < count; d++) {\n"
                "        cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, d);\n"
                "        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d);\n"
                "        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d);\n"
                "        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d);\n"
                "        cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, d);\n"
                "        cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, d);\n"
                "        if (mode != cudaComputeModeProhibited && clock * processors > 0) { best = d; }\n    }\n"
                "    return cudaSetDevice(best) == cudaSuccess ? best : -1;\n}\n",
                output),
        0, "%s", output);
}

/* The headers of include/stub_headers.txt: those that include another one, all together; and each that is absent. */
Test(headers, each_of_one_line_includes_another_or_names_what_is_absent) {
    FILE *list = fopen("common/simt/include/stub_headers.txt", "r");
    cr_assert_not_null(list);
    char line[300], header[100], kind[10], text[200], all[4096] = "", output[OUTPUT];
    int forwarding = 0, absent = 0;
    while (fgets(line, sizeof line, list)) {
        if (line[0] == '#' || sscanf(line, "%99s %9s %199[^\n]", header, kind, text) != 3) continue;
        if (strcmp(kind, "is") == 0) {
            forwarding++;
            snprintf(all + strlen(all), sizeof all - strlen(all), "#include <%s>\n", header);
            continue;
        }
        char include[200], message[300];
        absent++;
        snprintf(include, sizeof include, "#include <%s>\n", header);
        snprintf(message, sizeof message, "#error \"the CPU backend has no %s\"", text);
        cr_expect_neq(compile("c++ -std=c++17", include, output), 0, "%s", header);
        cr_expect(strstr(output, message), "%s: no '%s' in: %s", header, message, output);
    }
    fclose(list);
    cr_assert(forwarding >= 24 && absent >= 44, "%d and %d headers", forwarding, absent);
    snprintf(all + strlen(all), sizeof all - strlen(all), "int defined_here;\n");
    cr_expect_eq(compile("c++ -std=c++17", all, output), 0, "%s", output);
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
        {"#include <cuda_runtime.h>\nint f(float v) { return __shfl_down(v, 1); }\n", "use __shfl_down_sync"},
        {"#include <cuda_runtime.h>\nint f(int *p) { return cudaMallocArray(p, 1); }\n",
         "the CPU backend has no arrays and textures"},
        {"#include <cuda_runtime.h>\nint f(int *p) { return cudaMemPoolCreate(p, 0); }\n",
         "memory pools of one's own: use cudaMallocAsync"},
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

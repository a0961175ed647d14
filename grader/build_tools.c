/* build_tools.c — the compilers and the GPU that a build needs. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build.h"

static bool on_path(const char *program) {
    const char *path = getenv("PATH");
    char candidate[1024];
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, program);
        if (access(candidate, X_OK) == 0) { return true; }
        path += length + (path[length] == ':');
    }
    return false;
}

static bool have_nvcc(void) {
    return on_path("nvcc") || access("/usr/local/cuda/bin/nvcc", X_OK) == 0;
}

bool build_gpu_is_there(void) {
    glob_t found;
    bool there = access("/dev/dxg", F_OK) == 0; /* Windows' */
    if (glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0) {
        there = true;
        globfree(&found);
    }
    return there;
}

bool build_auto_is_cuda(void) {
    return have_nvcc() && build_gpu_is_there();
}

static bool have_gxx(void) {
    return getenv("CXX") || on_path("g++-14") || on_path("g++-13") || on_path("g++-12") || on_path("g++");
}

bool build_tools_are_there(struct build_report *report) {
    const char *missing = NULL;
    if (!on_path("make")) {
        missing = "make is not installed. Type: sudo apt-get install -y make g++";
    } else if (!report->cuda && !have_gxx()) {
        missing = "g++ is not installed. Type: sudo apt-get install -y g++";
    } else if (report->cuda && !have_nvcc()) {
        missing = "nvcc is not on the PATH nor in /usr/local/cuda/bin. Install the CUDA toolkit, or use --backend cpu";
    }
    if (missing) { snprintf(report->message, sizeof report->message, "%s", missing); }
    return !missing;
}

enum build_status build_no_openblas(struct build_report *report) {
    snprintf(report->message, sizeof report->message,
             "the CPU backend's matrix products need OpenBLAS. Type: sudo apt-get install -y libopenblas-dev");
    return BUILD_NO_TOOL;
}

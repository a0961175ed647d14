/* trace.c — a library with the launchers of three_way_add that writes down each call: the type, the sizes and a checksum of the
 * result. Every launcher calls that of libcourse_kernels_cpu.so in the same folder, which computes before it returns. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CALLS = 4096, COULD_NOT_LOAD = 999 };

struct call {
    int32_t bytes, type, N, C; /* of an element; 0 fp32, 1 fp16, 2 bf16 */
    uint64_t checksum;         /* of out: FNV-1a */
};

typedef int launcher(void *out, const void *a, const void *b, const void *c, int N, int C, void *stream);

static struct call calls[MOST_CALLS];
static int count;

int trace_count(void) {
    return count;
}

const struct call *trace_calls(void) {
    return calls;
}

static void *kernels(void) {
    static void *library;
    Dl_info own;
    char path[4096];
    if (library || !dladdr((void *)(uintptr_t)trace_count, &own)) { return library; }
    const char *slash = strrchr(own.dli_fname, '/');
    int folder = slash ? (int)(slash + 1 - own.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*slibcourse_kernels_cpu.so", folder, own.dli_fname);
    return library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static uint64_t checksum_of(const uint8_t *data, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) { hash = (hash ^ data[i]) * 0x100000001b3u; }
    return hash;
}

static int traced(const char *name, int type, int bytes, void *out, const void *a, const void *b, const void *c, int N,
                  int C, void *stream) {
    launcher *launch = kernels() ? (launcher *)(uintptr_t)dlsym(kernels(), name) : NULL;
    if (!launch) { return COULD_NOT_LOAD; }
    int status = launch(out, a, b, c, N, C, stream);
    if (status == 0 && count < MOST_CALLS) {
        calls[count++] = (struct call){bytes, type, N, C, checksum_of(out, (size_t)N * (size_t)C * (size_t)bytes)};
    }
    return status;
}

#define TRACED(suffix, type, bytes)                                                                                  \
    int three_way_add_##suffix(void *out, const void *a, const void *b, const void *c, int N, int C, void *stream) { \
        return traced("three_way_add_" #suffix, type, bytes, out, a, b, c, N, C, stream);                            \
    }

TRACED(f32, 0, 4)
TRACED(f16, 1, 2)
TRACED(bf16, 2, 2)

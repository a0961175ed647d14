/* build.h — build a step's runners with make; report what was rebuilt and why a file does not compile.
 *
 * One executable per lab file; a file that does not compile fails alone. Nothing is printed here.
 */
#ifndef BUILD_H
#define BUILD_H

#include <stdbool.h>
#include <stddef.h>

enum { BUILD_MAX_PARTS = 8, BUILD_MAX_FILES = 16, BUILD_NAME_BYTES = 64, BUILD_ERROR_BYTES = 4096 };

#define BUILD_NOT_ALLOWED "not allowed: " /* begins the errors of translate/learner.c and object.h */

enum build_status {
    BUILD_OK,      /* every file that exists has a runner */
    BUILD_PARTIAL, /* some files do not compile: see their .errors */
    BUILD_NO_TOOL, /* make, g++ or nvcc is missing, or a folder is unusable: the message says what to do; exit code 2 */
    BUILD_BROKEN,  /* make failed, but not because of a lab file: exit code 3 */
};

struct build_options {
    const char *course; /* folder of common/ and grader/ */
    const char *lab;    /* name of the lab's folder in the course, which says how its programs are linked; NULL: none */
    const char *files;  /* folder of the lab's .cu files */
    const char *out;    /* folder of the runners */
    const char *backend; /* "auto", "cpu" or "cuda" */
    bool traced;         /* with "cpu": programs that report the branches of a call, and check nothing */
    const char *names;   /* "softmax layernorm": only these files, if they exist; NULL: all */
    const char *refused; /* "softmax layernorm ": files that are not compiled; NULL: none */
    const char
        *parts[BUILD_MAX_PARTS]; /* files that programs of others are linked with ("attention.cu"); ended by NULL */
};

struct build_file {
    char name[BUILD_NAME_BYTES];    /* "softmax": files/softmax.cu gives out/softmax */
    char runner[512];               /* path of the executable */
    bool built;                     /* the executable is there and current */
    bool rebuilt;                   /* by this call */
    bool was_stale;                 /* the lab file or a header of it was newer than the existing executable */
    char errors[BUILD_ERROR_BYTES]; /* compiler's first errors with the learner's own lines, or "" */
    char warning[200];              /* "softmax.cu:67: ‘sum’ may be used uninitialized", or "" */
};

struct build_report {
    enum build_status status;
    bool cuda; /* backend chosen */
    int file_count;
    struct build_file file[BUILD_MAX_FILES];
    double seconds;
    char message[1024]; /* status NO_TOOL or BROKEN: what and what to do; else what was rebuilt, or "" */
};

enum build_status build_step(const struct build_options *options, struct build_report *report);

bool build_gpu_is_there(void);

/* Does "auto" mean CUDA on this machine, as in common/config.mk: are a device and nvcc present? */
bool build_auto_is_cuda(void);

/* The file of that name, or NULL. */
const struct build_file *build_find(const struct build_report *report, const char *name);

/* The names of the files and parts that the rules for the lab's code have refused in a build for the CPU; at most `size` bytes
 * with the 0. */
void build_refused(const struct build_options *options, const struct build_report *report, char *names, size_t size);

/* The object file of a lab file, with or without .cu: out/obj/NAME.o, which contains only the lab's code. */
void build_object_path(const struct build_options *options, const char *name, char *path, size_t size);

/* The first warning that a variable is used without a value, without the folder of the file; else "". */
void build_uninitialised(const char *log, char *text, size_t size);

/* The first errors in a compiler's or linker's output, at most three, each with the lines that belong to it. */
void build_first_errors(const char *log, char *errors, size_t size);

#endif

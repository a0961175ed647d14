#include "build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean.h"
#include "janitor.h"
#include "object.h"
#include "paths.h"
#include "progress.h"
#include "spawn.h"

enum { MAKE_OUTPUT_BYTES = 16384, LOG_BYTES = 65536, MAX_ERRORS = 3, MAX_ERROR_LINES = 16 };

/* ---- tools and the GPU ---- */

static bool have_nvcc(void) {
    return paths_have_program("nvcc") || access("/usr/local/cuda/bin/nvcc", X_OK) == 0;
}

bool build_gpu_is_there(void) {
    glob_t found;
    bool there = access("/dev/dxg", F_OK) == 0; /* WSL */
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
    return getenv("CXX") || paths_have_program("g++-14") || paths_have_program("g++-13") ||
           paths_have_program("g++-12") || paths_have_program("g++");
}

/* make, and the compiler of the report's backend. False: the message says what to type. */
static bool tools_are_there(struct build_report *report) {
    const char *missing = NULL;
    if (!paths_have_program("make")) {
        missing = "make is not installed. Type: sudo apt-get install -y make g++";
    } else if (!report->cuda && !have_gxx()) {
        missing = "g++ is not installed. Type: sudo apt-get install -y g++";
    } else if (report->cuda && !have_nvcc()) {
        missing = "nvcc is not on the PATH nor in /usr/local/cuda/bin. Install the CUDA toolkit, or use --backend cpu";
    }
    if (missing) { snprintf(report->message, sizeof report->message, "%s", missing); }
    return !missing;
}

static enum build_status no_openblas(struct build_report *report) {
    snprintf(report->message, sizeof report->message,
             "the CPU backend's matrix products need OpenBLAS. Type: sudo apt-get install -y libopenblas-dev");
    return BUILD_NO_TOOL;
}

/* ---- files ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct build_file *)a)->name, ((const struct build_file *)b)->name);
}

/* Is the file of that name (without .cu) in the list? */
static bool is_wanted(const char *names, const char *name, size_t length) {
    for (const char *at = names; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strcspn(at, " ") == length && strncmp(at, name, length) == 0) { return true; }
    }
    return !names;
}

static bool list_files(const struct build_options *options, struct build_report *report) {
    DIR *folder = opendir(options->files);
    if (!folder) {
        snprintf(report->message, sizeof report->message, "cannot read the folder %s: %s", options->files,
                 strerror(errno));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(folder)) && report->file_count < BUILD_MAX_FILES;) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length < 4 || strcmp(entry->d_name + length - 3, ".cu") != 0) { continue; }
        if (length - 3 >= BUILD_NAME_BYTES || !is_wanted(options->names, entry->d_name, length - 3)) { continue; }
        struct build_file *file = &report->file[report->file_count++];
        memcpy(file->name, entry->d_name, length - 3);
        snprintf(file->runner, sizeof file->runner, "%s/%.*s", options->out, (int)length - 3, entry->d_name);
    }
    closedir(folder);
    qsort(report->file, (size_t)report->file_count, sizeof *report->file, by_name);
    return true;
}

/* Nanoseconds; 0: no such file. */
static int64_t modified(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 ? (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec : 0;
}

void build_object_path(const struct build_options *options, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/obj/%.*s.o", options->out, (int)strcspn(name, "."), name);
}

const struct build_file *build_find(const struct build_report *report, const char *name) {
    for (int i = 0; i < report->file_count; i++) {
        if (strcmp(report->file[i].name, name) == 0) { return &report->file[i]; }
    }
    return NULL;
}

/* ---- make ---- */

/* make splits names at spaces. */
static bool has_space(const struct build_options *options, struct build_report *report) {
    char here[600] = "";
    const char *const paths[] = {getcwd(here, sizeof here), options->course, options->files, options->out};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i] || !strchr(paths[i], ' ')) { continue; }
        snprintf(report->message, sizeof report->message,
                 "the path %s has a space in it, which make cannot handle: move the folder to a path without",
                 paths[i]);
        return true;
    }
    return false;
}

/* "NAMES=softmax layernorm": what step.mk builds. */
static void make_names(const struct build_report *report, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "NAMES=");
    for (int i = 0; i < report->file_count && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s ", report->file[i].name);
    }
}

static const char *build_folder(const struct build_options *options, char *path, size_t size) {
    const char *build = getenv("BUILD");
    snprintf(path, size, "%s%s", build ? "" : options->course, build ? build : "/build");
    return path;
}

/* read(), with progress while nothing comes. */
static ssize_t read_slowly(int descriptor, char *data, size_t size) {
    struct pollfd ready = {descriptor, POLLIN, 0};
    while (poll(&ready, 1, 200) == 0) { progress_tick(); }
    return read(descriptor, data, size);
}

/* Makes `goal` of step.mk; keeps the beginning of the output. Returns make's exit status, or -1. */
static int run_make(const struct build_options *options, const struct build_report *report, const char *goal,
                    const char *refused, char *output, size_t size) {
    char jobs[16], folder[600], script[600], course[600], lab[300], files[600], out[600], confined[640],
        names[BUILD_MAX_FILES * BUILD_NAME_BYTES + 16];
    snprintf(jobs, sizeof jobs, "-j%ld", sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(script, sizeof script, "%s/common/step.mk", options->course);
    snprintf(course, sizeof course, "COURSE=%s", options->course);
    snprintf(lab, sizeof lab, "LAB=%.290s", options->lab ? options->lab : "");
    snprintf(files, sizeof files, "SRC=%s", options->files);
    snprintf(out, sizeof out, "OUT=%s", options->out);
    make_names(report, names, sizeof names);
    build_folder(options, folder, sizeof folder);
    snprintf(confined, sizeof confined, "CONFINED=%s/grader/compile", folder);
    if (access(confined + strlen("CONFINED="), X_OK) != 0) { snprintf(confined, sizeof confined, "CONFINED="); }
    const char *argv[] = {"make",
                          "-s",
                          "--no-print-directory",
                          "-k",
                          jobs,
                          "-f",
                          script,
                          course,
                          lab,
                          files,
                          out,
                          confined,
                          names,
                          report->cuda ? "BACKEND=cuda" : "BACKEND=cpu",
                          options->traced ? "TRACED=1" : "TRACED=",
                          refused,
                          goal,
                          NULL};
    int said[2];
    if (pipe2(said, O_CLOEXEC) != 0) { return -1; }
    pid_t grader = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* before the janitor knows of it */
        if (getppid() != grader) { _exit(127); }
        dup2(said[1], 1);
        dup2(said[1], 2);
        /* If the grader runs under another make, its flags and job server must not reach this one. */
        unsetenv("MAKEFLAGS");
        unsetenv("MFLAGS");
        unsetenv("MAKELEVEL");
        execvp("make", (char *const *)argv);
        _exit(127);
    }
    close(said[1]);
    if (pid > 0) {
        setpgid(pid, pid);
        janitor_group(pid);
    }
    size_t kept = 0;
    char data[4096];
    for (ssize_t n; pid > 0 && ((n = read_slowly(said[0], data, sizeof data)) > 0 || (n < 0 && errno == EINTR));) {
        for (ssize_t i = 0; i < n && kept + 1 < size; i++) { output[kept++] = data[i] ? data[i] : '?'; }
    }
    output[kept] = '\0';
    close(said[0]);
    int how = 0;
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
    janitor_group(0);
    return pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* Makes what all runners share under a lock: two makes at once would write the same files. What cannot be made is reported
 * when the runners need it. */
static void make_shared(const struct build_options *options, const struct build_report *report, char *output,
                        size_t size) {
    char folder[600], path[620];
    snprintf(path, sizeof path, "%s/.shared.lock", build_folder(options, folder, sizeof folder));
    mkdir(folder, 0777);
    int lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock < 0) { return; } /* a folder that cannot be written is complete, or make says what is missing */
    if (flock(lock, LOCK_EX) == 0) { run_make(options, report, "shared", "REFUSED=", output, size); }
    close(lock);
}

/* ---- inspection: what the compiler made of an untrusted text ---- */

/* The names of everything that a lab's object is linked with, except the model of a lab, whose names are functions that the
 * lab's files define or call. */
static bool read_names(const struct build_options *options, struct object_names *names) {
    static const char *const files[] = {"runner/cpu/main.o", "runner/cpu/call.o",      "runner/cpu/launchers.o",
                                        "runner/cpu/wire.o", "runner/cpu/time_none.o", "simt/libsimt_checked.a"};
    char folder[600], path[700];
    build_folder(options, folder, sizeof folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (!object_names_add(names, path)) { return false; }
    }
    return true;
}

/* Inspects OUT/obj/NAME.o. An object that may not be linked is removed, and the reason becomes its compiler's output. False:
 * it is not there. */
static bool object_is_there(const struct build_options *options, const struct object_names *names, const char *imports,
                            const char *name) {
    char path[700], why[400];
    int length = (int)strcspn(name, ".");
    build_object_path(options, name, path, sizeof path);
    if (access(path, R_OK) != 0) { return false; }
    if (object_allowed(path, names, imports, why, sizeof why)) { return true; }
    unlink(path);
    snprintf(path, sizeof path, "%s/obj/%.*s.log", options->out, length, name);
    FILE *log = fopen(path, "w");
    if (log) {
        fprintf(log, "%.*s.cu: error: %s\n", length, name, why);
        fclose(log);
    }
    return false;
}

/* "REFUSED=softmax": files without an object that may be linked, which are not compiled again. */
static void inspect(const struct build_options *options, const struct build_report *report, char *refused,
                    size_t size) {
    struct object_names names = {0};
    char imports[2048] = "", path[700];
    size_t used = (size_t)snprintf(refused, size, "REFUSED=");
    snprintf(path, sizeof path, "%s/obj/imports", options->out);
    FILE *file = fopen(path, "r");
    imports[file ? fread(imports, 1, sizeof imports - 1, file) : 0] = '\0';
    if (file) { fclose(file); }
    bool known = read_names(options, &names);
    for (int i = 0; i < report->file_count + BUILD_MAX_PARTS; i++) {
        int part = i - report->file_count;
        const char *name = part < 0 ? report->file[i].name : options->parts[part];
        if (!name) { break; }
        if ((!known || !object_is_there(options, &names, imports, name)) && used < size) {
            used += (size_t)snprintf(refused + used, size - used, "%.*s ", (int)strcspn(name, "."), name);
        }
    }
    object_names_free(&names);
}

/* ---- the compiler's output ---- */

static bool line_has(const char *line, size_t length, const char *text) {
    return memmem(line, length, text, strlen(text));
}

static bool is_error_line(const char *line, size_t length) {
    if (line_has(line, length, "collect2: error") || line_has(line, length, "ld returned")) { return false; }
    return line_has(line, length, "error:") || line_has(line, length, "error :") || line_has(line, length, "error #") ||
           line_has(line, length, "fatal error") || line_has(line, length, "undefined reference") ||
           line_has(line, length, "cannot find -l") || line_has(line, length, "multiple definition");
}

void build_first_errors(const char *log, char *errors, size_t size) {
    size_t used = 0;
    int count = 0, lines = 0;
    bool keeping = false;
    errors[0] = '\0';
    for (const char *line = log; *line && lines < MAX_ERROR_LINES;) {
        size_t length = strcspn(line, "\n");
        if (is_error_line(line, length)) {
            if (++count > MAX_ERRORS) { break; }
            keeping = true;
        } else if (line_has(line, length, "warning:") || line_has(line, length, "warning #") ||
                   line_has(line, length, "collect2:")) {
            keeping = false;
        }
        if (keeping && used + length + 2 < size) {
            memcpy(errors + used, line, length);
            used += length;
            errors[used++] = '\n';
            errors[used] = '\0';
            lines++;
        }
        line += length + (line[length] == '\n');
    }
}

void build_uninitialised(const char *log, char *text, size_t size) {
    text[0] = '\0';
    for (const char *line = log; *line && !text[0];) {
        size_t length = strcspn(line, "\n");
        const char *said = memmem(line, length, "warning: ", strlen("warning: ")), *start = line;
        bool is_gcc = line_has(line, length, "uninitialized [-W"); /* -Wuninitialized, -Wmaybe-uninitialized */
        if (said && is_gcc) {
            for (const char *at = line; at < said; at++) { start = *at == '/' ? at + 1 : start; }
            const char *place_end = memchr(start, ':', (size_t)(said - start)); /* softmax.cu:67:39: */
            place_end = place_end ? memchr(place_end + 1, ':', (size_t)(said - place_end - 1)) : NULL;
            said += strlen("warning: ");
            const char *end = memmem(said, (size_t)(line + length - said), " [-W", strlen(" [-W"));
            if (place_end && end) {
                snprintf(text, size, "%.*s: %.*s", (int)(place_end - start), start, (int)(end - said), said);
            }
        }
        line += length + (line[length] == '\n');
    }
}

static void read_log(const struct build_options *options, const char *name, const char *ending, char *log,
                     size_t size) {
    char path[700];
    snprintf(path, sizeof path, "%s/obj/%s%s", options->out, name, ending);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(log, 1, size - 1, f) : 0;
    if (f) { fclose(f); }
    log[n] = '\0';
    for (size_t i = 0; i < n; i++) { log[i] = log[i] ? log[i] : '?'; }
}

/* g++ calls it an internal error when the sandbox ends one of its parts: "internal compiler error: CPU time limit exceeded signal
 * terminated program cc1plus". */
static void name_limit(struct build_file *file) {
    char *cause = strstr(file->errors, "internal compiler error: "),
         *end = strstr(file->errors, " signal terminated program");
    if (!cause || !end || end < cause) { return; }
    cause += strlen("internal compiler error: ");
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)(end - cause), cause);
    snprintf(file->errors, sizeof file->errors, "%s.cu: error: the compiler was stopped: %s\n", file->name, text);
}

static void read_warning(const struct build_options *options, struct build_file *file) {
    char *log = malloc(LOG_BYTES);
    if (!log) { return; }
    read_log(options, file->name, ".log", log, LOG_BYTES);
    build_uninitialised(log, file->warning, sizeof file->warning);
    free(log);
}

static void read_errors(const struct build_options *options, struct build_file *file) {
    static const char *const endings[] = {".log", ".link.log"};
    char *log = malloc(LOG_BYTES);
    for (size_t i = 0; log && i < 2 && !file->errors[0]; i++) {
        read_log(options, file->name, endings[i], log, LOG_BYTES);
        build_first_errors(clean_text(log), file->errors, sizeof file->errors);
    }
    free(log);
    name_limit(file);
}

/* ---- the report ---- */

static void describe_rebuilt(struct build_report *report) {
    size_t used = 0;
    for (int i = 0; i < report->file_count; i++) {
        const struct build_file *file = &report->file[i];
        if (!file->was_stale || used >= sizeof report->message) { continue; }
        int n =
            snprintf(report->message + used, sizeof report->message - used, "%s%s.cu", used ? ", " : "", file->name);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used > 0 && used < sizeof report->message) {
        snprintf(report->message + used, sizeof report->message - used, " changed since the last build: rebuilt");
    }
}

/* Is the folder, or the nearest existing one above it, not writable? */
static bool cannot_write(const char *folder) {
    char path[600];
    snprintf(path, sizeof path, "%s", folder);
    for (;;) {
        if (access(path, W_OK | X_OK) == 0) { return false; }
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || slash == path) { return true; }
        if (!slash) { return access(".", W_OK | X_OK) != 0; }
        *slash = '\0';
    }
}

/* A file without errors may be linked with one that does not compile. */
static void blame_parts(const struct build_options *options, struct build_file *file) {
    for (size_t k = 0; k < BUILD_MAX_PARTS && options->parts[k] && !file->errors[0]; k++) {
        struct build_file part = {0};
        snprintf(part.name, sizeof part.name, "%.*s", (int)strcspn(options->parts[k], "."), options->parts[k]);
        read_errors(options, &part);
        if (!part.errors[0]) { continue; }
        snprintf(file->errors, sizeof file->errors, "it is linked with %s.cu:\n%.3900s", part.name, part.errors);
    }
}

void build_refused(const struct build_options *options, const struct build_report *report, char *names, size_t size) {
    size_t used = 0;
    names[0] = '\0';
    for (int i = 0; i < report->file_count + BUILD_MAX_PARTS; i++) {
        int part = i - report->file_count;
        const char *name = part < 0 ? report->file[i].name : options->parts[part];
        if (!name) { break; }
        struct build_file file = {0};
        snprintf(file.name, sizeof file.name, "%.*s", (int)strcspn(name, "."), name);
        read_errors(options, &file);
        if (!strstr(file.errors, BUILD_NOT_ALLOWED) || used >= size) { continue; }
        used += (size_t)snprintf(names + used, size - used, "%s ", file.name);
    }
}

static bool is_refused(const struct build_options *options, const char *name) {
    size_t length = strlen(name);
    for (const char *at = options->refused; at && (at = strstr(at, name)); at++) {
        if (at[length] == ' ' && (at == options->refused || at[-1] == ' ')) { return true; }
    }
    return false;
}

static enum build_status conclude(const struct build_options *options, struct build_report *report, int make_status,
                                  const char *output) {
    int failed = 0, explained = 0;
    for (int i = 0; i < report->file_count; i++) {
        struct build_file *file = &report->file[i];
        if (file->built) {
            read_warning(options, file);
            continue;
        }
        failed++;
        read_errors(options, file);
        blame_parts(options, file);
        if (strstr(file->errors, "cannot find -lbacktrace")) {
            snprintf(
                report->message, sizeof report->message,
                "the linker has no libbacktrace, which comes with gcc 12 or later. Type: sudo apt-get install -y g++");
            return BUILD_NO_TOOL;
        }
        if (strstr(file->errors, "cannot find -lopenblas")) { return no_openblas(report); }
        explained += file->errors[0] != '\0' || is_refused(options, file->name);
    }
    if (failed > 0 && strstr(output, "cblas.h: No such file")) { return no_openblas(report); }
    if (make_status == 0 && failed == 0) {
        describe_rebuilt(report);
        return BUILD_OK;
    }
    if (failed > 0 && explained == failed) { return BUILD_PARTIAL; }
    if (cannot_write(options->out)) {
        snprintf(
            report->message, sizeof report->message,
            "cannot write to %s, where the built programs go: %s. Copy the folder to one of your own, or say --out "
            "DIR",
            options->out, strerror(errno));
        return BUILD_NO_TOOL;
    }
    snprintf(report->message, sizeof report->message, "make failed (status %d) building %s:\n%.800s", make_status,
             options->files, output);
    return BUILD_BROKEN;
}

enum build_status build_step(const struct build_options *options, struct build_report *report) {
    memset(report, 0, sizeof *report);
    double start = child_now();
    const char *backend = options->backend ? options->backend : "auto";
    report->cuda = strcmp(backend, "auto") == 0 ? build_auto_is_cuda() : strcmp(backend, "cuda") == 0;
    if (!tools_are_there(report)) { return report->status = BUILD_NO_TOOL; }
    if (has_space(options, report)) { return report->status = BUILD_NO_TOOL; }
    if (!list_files(options, report)) { return report->status = BUILD_NO_TOOL; }
    if (report->file_count == 0) {
        snprintf(report->message, sizeof report->message,
                 "there is no .cu file in %s: run this in lab/ (make lab makes it), or say --files DIR",
                 options->files);
        return report->status = BUILD_NO_TOOL;
    }
    int64_t before[BUILD_MAX_FILES];
    for (int i = 0; i < report->file_count; i++) { before[i] = modified(report->file[i].runner); }
    char *output = calloc(1, MAKE_OUTPUT_BYTES);
    if (!output) { return report->status = BUILD_BROKEN; }
    make_shared(options, report, output, MAKE_OUTPUT_BYTES);
    bool inspects = !report->cuda && !options->traced;
    char refused[2 * BUILD_MAX_FILES * BUILD_NAME_BYTES];
    snprintf(refused, sizeof refused, "REFUSED=%s", options->refused ? options->refused : "");
    if (inspects) {
        run_make(options, report, "objects", refused, output, MAKE_OUTPUT_BYTES);
        inspect(options, report, refused, sizeof refused);
    }
    int make_status = run_make(options, report, "runners", refused, output, MAKE_OUTPUT_BYTES);
    for (int i = 0; i < report->file_count; i++) {
        struct build_file *file = &report->file[i];
        int64_t after = modified(file->runner);
        file->built = after != 0;
        file->rebuilt = after != before[i];
        file->was_stale = before[i] != 0 && file->rebuilt;
    }
    report->status = conclude(options, report, make_status, output);
    report->seconds = child_now() - start;
    free(output);
    return report->status;
}

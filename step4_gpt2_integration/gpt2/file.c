#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, ATTEMPTS = 1000 };

/* ---- reading ---- */

static bool map(struct gpt2_file *file, int descriptor, struct gpt2_error *error) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) { return gpt2_fail(error, "%s: %s", file->path, strerror(errno)); }
    if (!S_ISREG(status.st_mode)) { return gpt2_fail(error, "%s: not a regular file", file->path); }
    file->size = (size_t)status.st_size;
    file->bytes = (const uint8_t *)"";
    if (file->size == 0) { return true; }
    void *mapped = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
        file->size = 0;
        return gpt2_fail(error, "%s: cannot be mapped: %s", file->path, strerror(errno));
    }
    file->bytes = mapped;
    return true;
}

bool gpt2_file_open(struct gpt2_file *file, const char *path, struct gpt2_error *error) {
    *file = (struct gpt2_file){.path = strdup(path)};
    if (!file->path) { return gpt2_fail(error, "%s: out of memory", path); }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = descriptor >= 0 ? map(file, descriptor, error) : gpt2_fail(error, "%s: %s", path, strerror(errno));
    if (descriptor >= 0) { close(descriptor); }
    if (!ok) { gpt2_file_close(file); }
    return ok;
}

void gpt2_file_close(struct gpt2_file *file) {
    if (file->size > 0) { munmap((void *)(uintptr_t)file->bytes, file->size); }
    free(file->path);
    *file = (struct gpt2_file){0};
}

char *gpt2_path(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path) { snprintf(path, size, "%s/%s", folder, name); }
    return path;
}

/* ---- writing ---- */

/* A rename must not replace a device like /dev/stdout, nor a link. */
static bool may_be_replaced(const char *path, struct gpt2_error *error) {
    struct stat status;
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode)) { return true; }
    return gpt2_fail(error, "%s: cannot be written: not a regular file", path);
}

/* A temporary name for each writer, with the permissions of the umask (mkstemp would set 0600). */
static int create_beside(struct gpt2_output *output) {
    size_t size = strlen(output->path) + 48;
    output->temporary = malloc(size);
    for (int attempt = 0; output->temporary && attempt < ATTEMPTS; attempt++) {
        snprintf(output->temporary, size, "%s.part-%ld-%d", output->path, (long)getpid(), attempt);
        int descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) { return descriptor; }
    }
    return -1;
}

bool gpt2_output_begin(struct gpt2_output *output, const char *path, struct gpt2_error *error) {
    *output = (struct gpt2_output){0};
    if (!may_be_replaced(path, error)) { return false; }
    output->path = strdup(path);
    int descriptor = output->path ? create_beside(output) : -1;
    if (descriptor < 0) {
        gpt2_fail(error, "%s: cannot be written: %s", path, strerror(errno));
        free(output->temporary); /* the file was not made */
        output->temporary = NULL;
        gpt2_output_abandon(output);
        return false;
    }
    output->stream = fdopen(descriptor, "wb");
    if (!output->stream) {
        close(descriptor);
        gpt2_output_abandon(output);
        return gpt2_fail(error, "%s: out of memory", path);
    }
    setvbuf(output->stream, NULL, _IOFBF, BUFFER);
    return true;
}

static bool fail_writing(struct gpt2_output *output, struct gpt2_error *error) {
    gpt2_fail(error, "%s: cannot be written: %s", output->path, strerror(errno));
    gpt2_output_abandon(output);
    return false;
}

bool gpt2_output_write(struct gpt2_output *output, const void *bytes, size_t size, struct gpt2_error *error) {
    if (!output->stream) { return gpt2_fail(error, "this file was abandoned before"); }
    if (size == 0 || fwrite(bytes, 1, size, output->stream) == size) { return true; }
    return fail_writing(output, error);
}

/* A rename is durable when the folder has been flushed. */
static bool flush_folder(const char *path) {
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (!folder) { return false; }
    if (slash) { slash[slash == folder] = '\0'; }
    int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0) { return false; }
    bool ok = fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS; /* some file systems do not support it */
    close(descriptor);
    return ok;
}

bool gpt2_output_commit(struct gpt2_output *output, struct gpt2_error *error) {
    if (!output->stream) { return gpt2_fail(error, "this file was abandoned before"); }
    if (fflush(output->stream) != 0 || fsync(fileno(output->stream)) != 0) { return fail_writing(output, error); }
    int closed = fclose(output->stream);
    output->stream = NULL;
    if (closed != 0 || rename(output->temporary, output->path) != 0) { return fail_writing(output, error); }
    free(output->temporary); /* the file has its final name */
    output->temporary = NULL;
    bool ok = flush_folder(output->path) || gpt2_fail(error, "%s: its folder: %s", output->path, strerror(errno));
    gpt2_output_abandon(output);
    return ok;
}

void gpt2_output_abandon(struct gpt2_output *output) {
    int cause = errno;
    if (output->stream) { fclose(output->stream); }
    if (output->temporary) { unlink(output->temporary); }
    free(output->temporary);
    free(output->path);
    *output = (struct gpt2_output){0};
    errno = cause;
}

bool gpt2_file_write(const char *path, const void *bytes, size_t size, struct gpt2_error *error) {
    struct gpt2_output output;
    return gpt2_output_begin(&output, path, error) && gpt2_output_write(&output, bytes, size, error) &&
           gpt2_output_commit(&output, error);
}

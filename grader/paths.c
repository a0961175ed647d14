#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "janitor.h"
#include "job.h"
#include "lab.h"

enum { LARGEST_FILE = 1 << 20, SAME_MOMENT = 2 /* seconds: files that were copied together */ };

static bool is_course(const char *folder) {
    char file[PATHS_BYTES];
    int length = snprintf(file, sizeof file, "%s/common/step.mk", folder);
    return length < (int)sizeof file && access(file, R_OK) == 0;
}

bool paths_course(char *path, size_t size) {
    char beside[PATHS_BYTES] = "";
    ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 16);
    if (length > 0) { /* COURSE/build/grader/grader */
        beside[length] = '\0';
        for (int up = 0; up < 3 && strrchr(beside, '/'); up++) { *strrchr(beside, '/') = '\0'; }
    }
    const char *candidates[] = {getenv("COURSE"), "course", "..", ".", beside};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i] && *candidates[i] && is_course(candidates[i])) {
            return snprintf(path, size, "%s", candidates[i]) < (int)size;
        }
    }
    return false;
}

static time_t newest(const struct step *step) {
    time_t latest = 0;
    const char *name;
    for (int i = 0; (name = step_file(step, i)); i++) {
        char file[PATHS_BYTES];
        struct stat status;
        if (strcmp(name, PREDICTIONS_FILE) == 0) { continue; } /* answered, not edited */
        snprintf(file, sizeof file, "%s/%s", step->folder, name);
        if (stat(file, &status) == 0 && status.st_mtime > latest) { latest = status.st_mtime; }
    }
    return latest;
}

const struct step *paths_last_edited(const struct step *steps) {
    const struct step *last = NULL;
    time_t latest = 0, earliest = 0;
    for (const struct step *step = steps; step->name; step++) {
        time_t here = newest(step);
        if (here == 0) { continue; }
        if (!last || here > latest) {
            last = step;
            latest = here;
        }
        if (earliest == 0 || here < earliest) { earliest = here; }
    }
    return latest - earliest > SAME_MOMENT ? last : NULL;
}

bool paths_make_folder(const char *path) {
    char partial[PATHS_BYTES];
    if (snprintf(partial, sizeof partial, "%s", path) >= (int)sizeof partial) { return false; }
    for (char *slash = partial + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST) { return false; }
        *slash = '/';
    }
    return mkdir(partial, 0777) == 0 || errno == EEXIST;
}

/* ---- submissions: untrusted folders ---- */

/* Opens FOLDER/a/b/name without following a link at any of its parts. */
static int open_inside(int folder, const char *name, int flags) {
    char part[PATHS_BYTES];
    const char *slash = strchr(name, '/');
    if (!slash) { return openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC); }
    snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
    int inner = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) { return -1; }
    int file = open_inside(inner, slash + 1, flags);
    close(inner);
    return file;
}

/* A regular file of a sensible size; links are not followed, so that nothing outside the folder is read. A file that is not
 * there is no error: `taken` tells. */
static bool copy_file(int from_folder, const char *name, const char *to_folder, bool *taken, char *error,
                      size_t error_size) {
    static char text[LARGEST_FILE];
    char target[PATHS_BYTES];
    struct stat status;
    *taken = false;
    int from = open_inside(from_folder, name, O_RDONLY | O_NONBLOCK);
    if (from < 0 && errno == ENOENT) { return true; }
    if (from < 0 || fstat(from, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > LARGEST_FILE) {
        snprintf(error, error_size, "%s is no regular file of at most 1 MiB", name);
        if (from >= 0) { close(from); }
        return false;
    }
    ssize_t length = read(from, text, sizeof text);
    close(from);
    snprintf(target, sizeof target, "%s/%.*s", to_folder, (int)(strrchr(name, '/') ? strrchr(name, '/') - name : 0),
             name);
    bool has_folder = paths_make_folder(target);
    snprintf(target, sizeof target, "%s/%s", to_folder, name);
    FILE *to = length >= 0 && has_folder ? fopen(target, "w") : NULL;
    *taken = to && fwrite(text, 1, (size_t)length, to) == (size_t)length;
    if (to && fclose(to) != 0) { *taken = false; }
    if (!*taken) { snprintf(error, error_size, "cannot copy %s: %s", name, strerror(errno)); }
    return *taken;
}

enum { MOST_HEADERS = 64, DEEPEST_FOLDER = 4 };

struct headers {
    const struct step *step;
    const char *clean;
    char course[PATHS_BYTES];
    int root, count;
};

/* An ordinary name that no file of the course has: a header there does not replace one of the course. */
static bool is_own_header(const struct headers *headers, const char *name) {
    const char *const folders[] = {"common", headers->step->folder, "."}, *ending = strrchr(name, '.');
    char file[2 * PATHS_BYTES + 64];
    if (!ending || (strcmp(ending, ".cuh") != 0 && strcmp(ending, ".h") != 0)) { return false; }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(file, sizeof file, "%s/%s/%s", headers->course, folders[i], name);
        if (access(file, F_OK) == 0) { return false; }
    }
    return !step_owns_file(headers->step, name);
}

static bool is_ordinary(const char *name) {
    return name[0] != '.' && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")];
}

/* Copies the headers that the description does not list, with those of sub-folders. Takes `folder`, whose name in the
 * submission is `prefix`: "" or "mine/". */
static bool copy_own_headers(struct headers *headers, int folder, const char *prefix, int depth, char *error,
                             size_t error_size) {
    DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
    bool ok = true, taken;
    char name[PATHS_BYTES];
    for (struct dirent *entry; ok && entries && (entry = readdir(entries));) {
        if (!is_ordinary(entry->d_name)) { continue; }
        int length = snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        if (length + 2 > (int)sizeof name) { continue; }
        if (is_own_header(headers, name)) {
            ok = headers->count++ < MOST_HEADERS;
            if (!ok) { snprintf(error, error_size, "the submission has more than %d headers", MOST_HEADERS); }
            ok = ok && copy_file(headers->root, name, headers->clean, &taken, error, error_size);
        } else if (depth < DEEPEST_FOLDER) {
            int inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            name[length] = '/', name[length + 1] = '\0';
            ok = inner < 0 || copy_own_headers(headers, inner, name, depth + 1, error, error_size);
        }
    }
    if (entries) { closedir(entries); }
    return ok;
}

static int open_submission(const struct step *step, const char *submission) {
    char inner[PATHS_BYTES];
    snprintf(inner, sizeof inner, "%s/%s", submission, step->folder);
    int folder = open(inner, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return folder >= 0 ? folder : open(submission, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool paths_take_submission(const struct step *step, const char *submission, char *clean, size_t size, char *error,
                           size_t error_size) {
    int folder = open_submission(step, submission);
    const char *temporary = getenv("TMPDIR"), *name;
    if (folder < 0) {
        snprintf(error, error_size, "cannot open the submission %s: %s", submission, strerror(errno));
        return false;
    }
    snprintf(clean, size, "%s/submission.%016" PRIx64, temporary ? temporary : "/tmp", job_nonce());
    janitor_folder(clean); /* before there is one */
    if (mkdir(clean, 0700) != 0) {
        snprintf(error, error_size, "cannot make the folder %s: %s", clean, strerror(errno));
        janitor_folder(NULL);
        close(folder);
        return false;
    }
    bool ok = true, any = false, taken;
    for (int i = 0; ok && (name = step_file(step, i)); i++) {
        ok = copy_file(folder, name, clean, &taken, error, error_size);
        any = any || taken;
    }
    struct headers headers = {.step = step, .clean = clean, .root = folder};
    if (ok && any && paths_course(headers.course, sizeof headers.course)) {
        int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok = copy_own_headers(&headers, again, "", 0, error, error_size);
    }
    close(folder);
    if (ok && !any) {
        snprintf(error, error_size, "%s holds none of %s's files", submission, step->name);
        ok = false;
    }
    if (!ok) { paths_remove(clean); }
    return ok;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void paths_remove(const char *folder) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool paths_have_program(const char *name) {
    char path[PATHS_BYTES];
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, name);
        if (length < (int)sizeof path && access(path, X_OK) == 0) { return true; }
    }
    return false;
}

#define _GNU_SOURCE
#include "gpt2/train/out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpt2/file.h"

static bool fail_errno(const char *path, struct gpt2_error *error) {
    return gpt2_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

bool gpt2_out_open(struct gpt2_out *out, const char *path, struct gpt2_error *error) {
    *out = (struct gpt2_out){.path = strdup(path), .lock = -1};
    char *lock = gpt2_path(path, "lock");
    bool good = (out->path != NULL && lock != NULL) || gpt2_fail(error, "out of memory");
    if (good && mkdir(path, 0777) != 0 && errno != EEXIST) { good = fail_errno(path, error); }
    if (good) {
        out->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        good = out->lock >= 0 || fail_errno(lock, error);
    }
    if (good && flock(out->lock, LOCK_EX | LOCK_NB) != 0) {
        good = gpt2_fail(error, "%s: another run is writing there", path);
    }
    free(lock);
    if (!good) { gpt2_out_close(out); }
    return good;
}

void gpt2_out_close(struct gpt2_out *out) {
    if (out->path != NULL && out->lock >= 0) { close(out->lock); }
    free(out->path);
    *out = (struct gpt2_out){.lock = -1};
}

/* A copy that follows links has made folders of them: each is the checkpoint itself then. */
bool gpt2_out_latest(const struct gpt2_out *out, char **latest, struct gpt2_error *error) {
    char name[256], *link = gpt2_path(out->path, "latest");
    *latest = NULL;
    if (link == NULL) { return gpt2_fail(error, "out of memory"); }
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0 && errno == EINVAL) {
        *latest = link;
        return true;
    }
    bool good = length >= 0 || errno == ENOENT;
    if (!good) { gpt2_fail(error, "%s: cannot be read: %s", link, strerror(errno)); }
    if (length >= 0) {
        name[length] = '\0';
        *latest = gpt2_path(out->path, name);
        good = *latest != NULL || gpt2_fail(error, "out of memory");
    }
    free(link);
    return good;
}

bool gpt2_out_has_latest(const char *path) {
    struct stat status;
    char *link = gpt2_path(path, "latest");
    bool there = link != NULL && lstat(link, &status) == 0;
    free(link);
    return there;
}

/* ---- folders of steps ---- */

enum { NAME_BYTES = 32 };

/* "step-" and digits, and ".part" while it is being written. */
static void name_step(char name[NAME_BYTES], int64_t step, const char *end) {
    snprintf(name, NAME_BYTES, "step-%08lld%s", (long long)step, end);
}

static bool is_step(const char *name) {
    if (strncmp(name, "step-", 5) != 0) { return false; }
    size_t digits = strspn(name + 5, "0123456789");
    return digits >= 8 && (name[5 + digits] == '\0' || strcmp(name + 5 + digits, ".part") == 0);
}

static char *step_path(const struct gpt2_out *out, int64_t step, const char *end, struct gpt2_error *error) {
    char name[NAME_BYTES];
    name_step(name, step, end);
    char *path = gpt2_path(out->path, name);
    if (path == NULL) { gpt2_fail(error, "out of memory"); }
    return path;
}

/* Files in a folder, and the folder. What is not there is removed already. */
static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) { return; }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) { unlinkat(dirfd(folder), entry->d_name, 0); }
    closedir(folder);
    rmdir(path);
}

static void remove_others(const struct gpt2_out *out, int64_t latest, int64_t best) {
    char latest_name[NAME_BYTES], best_name[NAME_BYTES];
    name_step(latest_name, latest, "");
    name_step(best_name, best, "");
    DIR *folder = opendir(out->path);
    if (folder == NULL) { return; }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (!is_step(name) || strcmp(name, latest_name) == 0 || strcmp(name, best_name) == 0) { continue; }
        char *path = gpt2_path(out->path, name);
        if (path != NULL) { remove_folder(path); }
        free(path);
    }
    closedir(folder);
}

/* ---- what has been written, for good ---- */

static bool flush_folder(const char *path, struct gpt2_error *error) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL || errno == EROFS);
    if (!good) { fail_errno(path, error); }
    if (folder >= 0) { close(folder); }
    return good;
}

static bool move(const struct gpt2_out *out, const char *from, const char *to, struct gpt2_error *error) {
    return (rename(from, to) == 0 || fail_errno(to, error)) && flush_folder(out->path, error);
}

static bool is_folder(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The link `name` to a step's folder. Where there is a folder of that name, they change places. */
static bool point(const struct gpt2_out *out, const char *name, int64_t step, struct gpt2_error *error) {
    char target[NAME_BYTES], part[NAME_BYTES];
    name_step(target, step, "");
    snprintf(part, sizeof part, "%s.part", name);
    char *link = gpt2_path(out->path, name), *next = gpt2_path(out->path, part);
    bool good = (link != NULL && next != NULL) || gpt2_fail(error, "out of memory");
    if (good && is_folder(next)) { remove_folder(next); }
    if (good) { unlink(next); }
    good = good && (symlink(target, next) == 0 || fail_errno(next, error));
    if (good && is_folder(link) && renameat2(AT_FDCWD, next, AT_FDCWD, link, RENAME_EXCHANGE) == 0) {
        remove_folder(next);
        good = flush_folder(out->path, error);
    } else {
        good = good && move(out, next, link, error);
    }
    free(link), free(next);
    return good;
}

bool gpt2_out_best(const struct gpt2_out *out, int64_t step) {
    char *whole = step_path(out, step, "", NULL);
    bool there = whole != NULL && access(whole, F_OK) == 0;
    free(whole);
    return there && point(out, "best", step, NULL);
}

char *gpt2_out_begin(const struct gpt2_out *out, int64_t step, struct gpt2_error *error) {
    char *part = step_path(out, step, ".part", error);
    if (part != NULL) { remove_folder(part); }
    return part;
}

bool gpt2_out_commit(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_error *error) {
    char *part = step_path(out, step, ".part", error), *whole = step_path(out, step, "", error);
    bool good = part != NULL && whole != NULL && flush_folder(part, error);
    if (good) {
        remove_folder(whole); /* of a run that was stopped before it counted */
        good = move(out, part, whole, error) && point(out, "latest", step, error) &&
               (best == 0 || point(out, "best", best, error));
    }
    if (good) { remove_others(out, step, best); }
    free(part), free(whole);
    return good;
}

void gpt2_out_abandon(const struct gpt2_out *out, int64_t step) {
    char *part = step_path(out, step, ".part", NULL);
    if (part != NULL) { remove_folder(part); }
    free(part);
}

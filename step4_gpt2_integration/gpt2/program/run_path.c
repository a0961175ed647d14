/* run_path.c — the folder of a run as a model: its latest checkpoint, or its best one (program.h). */
#define _GNU_SOURCE
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

static bool there(const char *folder, const char *name) {
    char path[PATH_MAX];
    struct stat status;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && lstat(path, &status) == 0;
}

bool run_checkpoint(const char **path, const char *option, bool best, struct gpt2_error *error) {
    static char checkpoint[PATH_MAX];
    if (*path == NULL) {
        return !best || gpt2_fail(error, "--best needs %s: the folder of a run of gpt2 train", option);
    }
    bool is_run = !there(*path, "config.json") && (there(*path, "latest") || there(*path, "run.json"));
    if (!is_run) {
        return !best || gpt2_fail(error, "%s %s: --best needs the folder of a run of gpt2 train", option, *path);
    }
    if (!there(*path, best ? "best" : "latest")) {
        return gpt2_fail(error,
                         best ? "%s: the run in it has no best checkpoint; --val has one kept"
                              : "%s: the run in it has no checkpoint yet",
                         *path);
    }
    int length = snprintf(checkpoint, sizeof checkpoint, "%s/%s", *path, best ? "best" : "latest");
    if (length >= (int)sizeof checkpoint) { return gpt2_fail(error, "%s: the path is too long", *path); }
    *path = checkpoint;
    return true;
}

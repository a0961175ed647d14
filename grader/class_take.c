#include "class_take.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_list.h"
#include "lab.h"
#include "paths.h"

enum {
    MOST_FILES = 200,      /* of a submission that are taken */
    LARGEST_SUM = 8 << 20, /* of all that are taken */
};

/* ---- the lab's files among them ---- */

static bool is_repeated(const struct step *step, int index) {
    for (int i = 0; i < index; i++) {
        if (strcmp(step_file(step, i), step_file(step, index)) == 0) { return true; }
    }
    return false;
}

int class_lab_files(const struct step *step) {
    int count = 0;
    for (int i = 0; step_file(step, i); i++) {
        count += !is_repeated(step, i) && strcmp(step_file(step, i), PREDICTIONS_FILE) != 0;
    }
    return count;
}

/* Is the name FOLDER/file, where the folder's name has `length` characters (0: no folder)? */
static bool is_in(const char *name, const char *folder, size_t length, const char *file) {
    if (length && (strncmp(name, folder, length) != 0 || name[length] != '/')) { return false; }
    return strcmp(name + length + (length > 0), file) == 0;
}

static int count_in(const struct listing *listing, const struct step *step, const char *folder, size_t length) {
    int count = 0;
    for (int i = 0; step_file(step, i); i++) {
        if (is_repeated(step, i) || strcmp(step_file(step, i), PREDICTIONS_FILE) == 0) { continue; }
        for (int k = 0; k < listing->count; k++) {
            if (is_in(listing->name[k], folder, length, step_file(step, i))) {
                count++;
                break;
            }
        }
    }
    return count;
}

static int depth_of(const char *folder, size_t length) {
    int depth = length > 0;
    for (size_t i = 0; i < length; i++) { depth += folder[i] == '/'; }
    return depth;
}

/* Is the last part of the path the lab's folder? */
static bool is_labs(const struct step *step, const char *folder, size_t length) {
    size_t own = strlen(step->folder);
    return length >= own && strncmp(folder + length - own, step->folder, own) == 0 &&
           (length == own || folder[length - own - 1] == '/');
}

/* The folder that holds most of the lab's files: of several, the lab's own folder, then the uppermost one. Returns how many. */
static int find_folder(const struct listing *listing, const struct step *step, const char **folder, size_t *length) {
    int most = 0;
    *folder = "";
    *length = 0;
    for (int i = 0; i < listing->count; i++) {
        const char *name = listing->name[i], *slash = strrchr(name, '/');
        size_t here = slash ? (size_t)(slash - name) : 0;
        const char *file = slash ? slash + 1 : name;
        if (!step_owns_file(step, file) || strcmp(file, PREDICTIONS_FILE) == 0) { continue; }
        int count = count_in(listing, step, name, here);
        bool labs = is_labs(step, name, here), before = is_labs(step, *folder, *length);
        bool upper = depth_of(name, here) < depth_of(*folder, *length);
        if (count > most || (count == most && (labs > before || (labs == before && upper)))) {
            most = count;
            *folder = name;
            *length = here;
        }
    }
    return most;
}

/* ---- taking ---- */

static bool is_source(const char *name) {
    static const char *const kinds[] = {".cu", ".cuh", ".h", ".hpp"};
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(dot, kinds[i]) == 0) { return true; }
    }
    return strcmp(slash ? slash + 1 : name, PREDICTIONS_FILE) == 0;
}

/* A name that may be written below a folder of ours: parts that are neither empty nor "..", of plain characters. */
static bool is_safe(const char *name) {
    for (const char *part = name;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || length > NAME_MAX || part[0] == '.' || part[0] == '-') { return false; }
        for (size_t i = 0; i < length; i++) {
            if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+", part[i])) {
                return false;
            }
        }
        part += length;
        if (!*part) { return true; }
    }
}

static bool write_taken(const struct listing *listing, const char *to, const char *name, const char *text,
                        size_t size) {
    char path[2 * PATHS_BYTES], folder[PATHS_BYTES];
    const char *slash = strrchr(name, '/');
    int length = snprintf(folder, sizeof folder, "%s/%.*s", to, (int)(slash ? slash - name : 0), name);
    snprintf(path, sizeof path, "%s/%s", to, name);
    if (length >= (int)sizeof folder || !paths_make_folder(folder)) {
        return listing_fail(listing, "a folder of it cannot be copied");
    }
    FILE *file = fopen(path, "w");
    bool ok = file && fwrite(text, 1, size, file) == size;
    if (file && fclose(file) != 0) { ok = false; }
    if (!ok) { snprintf(listing->error, listing->error_size, "%s cannot be copied: %s", name, strerror(errno)); }
    return ok;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool take_one(const struct listing *listing, const char *name, const char *below, const char *to, size_t *sum,
                     struct sha256 *hash) {
    size_t size = 0;
    char *text = listing_read(listing, name, &size);
    bool ok = text != NULL;
    if (!ok) { snprintf(listing->error, listing->error_size, "%s cannot be read, or is larger than 1 MiB", below); }
    *sum += size;
    if (ok && *sum > LARGEST_SUM) { ok = listing_fail(listing, "its sources are larger than 8 MiB together"); }
    ok = ok && write_taken(listing, to, below, text, size);
    if (ok) {
        sha256_add_text(hash, below);
        sha256_add(hash, &size, sizeof size);
        sha256_add(hash, text, size);
    }
    free(text);
    return ok;
}

static bool take_below(const struct listing *listing, const char *folder, size_t length, const char *to,
                       struct sha256 *hash) {
    size_t sum = 0;
    int taken = 0;
    qsort(listing->name, (size_t)listing->count, sizeof *listing->name, by_name);
    for (int i = 0; i < listing->count; i++) {
        const char *name = listing->name[i], *below = name + length + (length > 0);
        if (length && (strncmp(name, folder, length) != 0 || name[length] != '/')) { continue; }
        if (!is_source(below) || !is_safe(below)) { continue; }
        if (taken++ == MOST_FILES) { return listing_fail(listing, "it holds more than 200 sources"); }
        if (!take_one(listing, name, below, to, &sum, hash)) { return false; }
    }
    return true;
}

/* The only archive in a folder: some systems hand out a folder for each student with one in it. */
static bool find_archive(const struct listing *listing, char *path, size_t size) {
    int count = 0;
    for (int i = 0; i < listing->count && !listing->archiver; i++) {
        if (!class_is_archive(listing->name[i], NULL, 0)) { continue; }
        count++;
        if (snprintf(path, size, "%s/%s", listing->path, listing->name[i]) >= (int)size) { return false; }
    }
    return count == 1;
}

static bool fail_empty(const struct listing *listing, const struct step *step) {
    size_t used = (size_t)snprintf(listing->error, listing->error_size, "it holds none of %s's files", step->name);
    for (int i = 0, shown = 0; step_file(step, i) && used < listing->error_size; i++) {
        if (is_repeated(step, i) || strcmp(step_file(step, i), PREDICTIONS_FILE) == 0) { continue; }
        used += (size_t)snprintf(listing->error + used, listing->error_size - used, "%s%s", shown++ ? ", " : ": ",
                                 step_file(step, i));
    }
    return false;
}

static bool take(const struct step *step, const char *path, const char *to, bool outermost, struct sha256 *hash,
                 char *error, size_t error_size) {
    struct listing listing = {.path = path, .error = error, .error_size = error_size};
    char inner[PATHS_BYTES], *folder = NULL;
    const char *found;
    size_t length;
    bool ok = listing_open(&listing);
    if (ok && find_folder(&listing, step, &found, &length) > 0) {
        folder = strndup(found, length); /* names move when they are sorted */
        ok = folder && take_below(&listing, folder, length, to, hash);
    } else if (ok && outermost && find_archive(&listing, inner, sizeof inner)) {
        ok = take(step, inner, to, false, hash, error, error_size);
    } else if (ok) {
        ok = fail_empty(&listing, step);
    }
    free(folder);
    listing_free(&listing);
    return ok;
}

bool class_take(const struct step *step, const char *path, const char *to, struct sha256 *hash, char *error,
                size_t error_size) {
    return take(step, path, to, true, hash, error, error_size);
}

int class_count_files(const struct step *step, const char *path) {
    char error[256];
    struct listing listing = {.path = path, .error = error, .error_size = sizeof error};
    const char *folder;
    size_t length;
    int count = listing_open(&listing) ? find_folder(&listing, step, &folder, &length) : -1;
    listing_free(&listing);
    return count;
}

#include "class_store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "sha256.h"

enum { LARGEST_RESULT = 16 << 20, SLUG_LETTERS = 48 };

FILE *store_begin(struct store_file *store, const char *path) {
    snprintf(store->path, sizeof store->path, "%s", path);
    snprintf(store->temporary, sizeof store->temporary, "%s.tmp", path);
    store->file = fopen(store->temporary, "w");
    return store->file;
}

/* The folder, too, must reach the disk. */
static bool sync_folder(const char *path) {
    char copy[PATHS_BYTES];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0) { close(folder); }
    return ok;
}

bool store_end(struct store_file *store) {
    bool ok = !ferror(store->file) && fflush(store->file) == 0 && fsync(fileno(store->file)) == 0;
    ok = fclose(store->file) == 0 && ok;
    ok = ok && rename(store->temporary, store->path) == 0 && sync_folder(store->path);
    if (!ok) { unlink(store->temporary); }
    return ok;
}

void store_slug(const char *student, char slug[CLASS_SLUG_BYTES]) {
    char digest[SHA256_TEXT_BYTES];
    struct sha256 hash;
    size_t used = 0;
    bool changed = false;
    for (const char *c = student; *c && used < SLUG_LETTERS; c++) {
        bool safe =
            strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", *c) || (*c == '-' && used > 0);
        changed = changed || !safe;
        slug[used++] = safe ? *c : '-';
    }
    slug[used] = '\0';
    if (!changed && strlen(student) == used && !strstr(slug, "--")) { return; }
    sha256_begin(&hash);
    sha256_add_text(&hash, student);
    sha256_end(&hash, digest);
    snprintf(slug + used, CLASS_SLUG_BYTES - used, "--%.16s", digest); /* no unchanged name has two dashes */
}

static void result_path(const char *out, const struct submission *submission, char path[PATHS_BYTES]) {
    snprintf(path, PATHS_BYTES, "%.900s/results/%s.json", out, submission->slug);
}

struct json_value *store_load(const char *out, const struct submission *submission) {
    char path[PATHS_BYTES], error[128];
    result_path(out, submission, path);
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LARGEST_RESULT) : NULL;
    size_t length = text ? fread(text, 1, LARGEST_RESULT, file) : 0;
    struct json_value *result = text ? json_read(text, length, error, sizeof error) : NULL;
    if (file) { fclose(file); }
    free(text);
    if (json_get_text(result, "status")[0] && json_get_text(result, "key")[0]) { return result; }
    json_free(result);
    return NULL;
}

bool store_save(const char *out, const struct submission *submission, const char *status, const char *key,
                const char *report, size_t size) {
    char path[PATHS_BYTES], *head = NULL;
    size_t head_size;
    struct store_file store;
    result_path(out, submission, path);
    struct json json = {.file = open_memstream(&head, &head_size)};
    if (!json.file) { return false; }
    json_begin_object(&json, NULL);
    json_string(&json, "student", submission->student);
    json_string(&json, "status", status);
    json_string(&json, "key", key);
    fclose(json.file);
    const char *rest = memchr(report, '{', size);
    bool ok = rest && store_begin(&store, path);
    if (ok) {
        fprintf(store.file, "%s,%.*s", head, (int)(size - (size_t)(rest + 1 - report)), rest + 1);
        ok = store_end(&store);
    }
    free(head);
    return ok;
}

const char *store_status(const struct submission *submission) {
    return json_get_text(submission->result, "status");
}

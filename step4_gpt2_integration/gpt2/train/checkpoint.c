/* checkpoint.c — writes, publishes and restores checkpoints (checkpoint.h). */
#define _GNU_SOURCE
#include "gpt2/train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "gpt2/file.h"
#include "gpt2/formats/hf.h"

/* ---- the folder of a run ---- */

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

/* In a copied run the links may have become folders: then the link is the checkpoint itself. */
bool gpt2_out_find(const struct gpt2_out *out, const char *name, char **found, struct gpt2_error *error) {
    char target[256], *link = gpt2_path(out->path, name);
    *found = NULL;
    if (link == NULL) { return gpt2_fail(error, "out of memory"); }
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0 && errno == EINVAL) {
        *found = link;
        return true;
    }
    bool good = length >= 0 || errno == ENOENT;
    if (!good) { gpt2_fail(error, "%s: cannot be read: %s", link, strerror(errno)); }
    if (length >= 0) {
        target[length] = '\0';
        *found = gpt2_path(out->path, target);
        good = *found != NULL || gpt2_fail(error, "out of memory");
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

/* Weights and two moments in F32; a tokenizer, whose tokens have 64 bytes in its two files at most on the average; headers. */
static double checkpoint_bytes(const struct gpt2_config *config) {
    return 12.0 * (double)gpt2_config_weights(config, config->vocabulary) + 64.0 * config->vocabulary + (1 << 16);
}

bool gpt2_out_has_room(const struct gpt2_out *out, const struct gpt2_config *config, int count,
                       struct gpt2_error *error) {
    struct statvfs disk;
    double needed = count * checkpoint_bytes(config);
    if (statvfs(out->path, &disk) != 0) { return true; } /* writing will tell */
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    return needed <= room ||
           gpt2_fail(error, "%s: %d checkpoint%s need%s %.1f MB, and its disk has %.1f MB free", out->path, count,
                     count > 1 ? "s" : "", count > 1 ? "" : "s", needed / 1e6, room / 1e6);
}

/* ---- folders of steps ---- */

enum { NAME_BYTES = 32 };

/* "step-" and digits; ".part" is appended until the folder is complete. */
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

/* Removes the files of a folder, and the folder. Missing ones are no error. */
static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) { return; }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) { unlinkat(dirfd(folder), entry->d_name, 0); }
    closedir(folder);
    rmdir(path);
}

/* A file of a run that was being replaced by gpt2_output when its process was killed. */
static bool is_leftover(const char *name) {
    static const char *const files[] = {"loss.csv", "loss.svg", "samples.txt", "run.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t length = strlen(files[i]);
        if (strncmp(name, files[i], length) == 0 && strncmp(name + length, ".part-", 6) == 0) { return true; }
    }
    return false;
}

static void remove_others(const struct gpt2_out *out, int64_t latest, int64_t best) {
    char latest_name[NAME_BYTES], best_name[NAME_BYTES];
    name_step(latest_name, latest, "");
    name_step(best_name, best, "");
    DIR *folder = opendir(out->path);
    if (folder == NULL) { return; }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (is_leftover(name)) { unlinkat(dirfd(folder), name, 0); }
        if (!is_step(name) || strcmp(name, latest_name) == 0 || strcmp(name, best_name) == 0) { continue; }
        char *path = gpt2_path(out->path, name);
        if (path != NULL) { remove_folder(path); }
        free(path);
    }
    closedir(folder);
}

/* ---- durable renames ---- */

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

/* Points the link `name` to a step's folder. A folder of that name is exchanged with the link and removed. */
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

bool gpt2_out_point(const struct gpt2_out *out, const char *name, int64_t step, struct gpt2_error *error) {
    char *whole = step_path(out, step, "", error);
    bool there = whole != NULL && (access(whole, F_OK) == 0 || gpt2_fail(error, "%s: it is missing", whole));
    free(whole);
    return there && point(out, name, step, error);
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
        remove_folder(whole); /* a leftover of a run that was stopped before the commit */
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

static const char optimizer_name[] = "optimizer.safetensors";
static const char algorithms_name[] =
    "matmul-algorithms"; /* older files have "algorithms", without those of attention */

/* ---- the optimizer's file ---- */

struct entry {
    char name[GPT2_NAME_BYTES + 2];
    enum gpt2_part part;
    enum gpt2_tensor tensor;
    int layer;
};

struct listing {
    struct entry *entries;
    struct safetensors_tensor *tensors; /* one for each entry, then the algorithms */
    int count;
};

static bool list_tensors(struct listing *listing, const struct gpt2_config *config, struct gpt2_error *error) {
    size_t most = 2 * (size_t)GPT2_TENSORS * (size_t)config->layers + 1;
    listing->entries = calloc(most, sizeof *listing->entries);
    listing->tensors = calloc(most, sizeof *listing->tensors);
    if (listing->entries == NULL || listing->tensors == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int part = GPT2_MOMENT1; part <= GPT2_MOMENT2; part++) {
        for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
            enum gpt2_tensor t = (enum gpt2_tensor)tensor;
            for (int layer = 0; layer < gpt2_tensor_layers(config, t); layer++) {
                struct entry *entry = &listing->entries[listing->count];
                *entry = (struct entry){.part = (enum gpt2_part)part, .tensor = t, .layer = layer};
                memcpy(entry->name, part == GPT2_MOMENT1 ? "m." : "v.", 2);
                gpt2_tensor_name(t, layer, entry->name + 2);
                listing->tensors[listing->count++] =
                    (struct safetensors_tensor){.name = entry->name,
                                                .type = "F32",
                                                .dimensions = gpt2_tensor_dimensions(t),
                                                .shape = {gpt2_tensor_rows(config, t), gpt2_tensor_columns(config, t)}};
            }
        }
    }
    return true;
}

static bool write_tensors(struct gpt2_output *output, const struct listing *listing, struct gpt2_trainer *trainer,
                          struct gpt2_error *error) {
    for (int i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->entries[i];
        struct gpt2_source source = gpt2_trainer_source(trainer, entry->part);
        size_t bytes = (size_t)gpt2_tensor_elements(&source.config, entry->tensor) * sizeof(float);
        void *values = malloc(bytes);
        bool good = values != NULL || gpt2_fail(error, "out of memory");
        good = good && source.read(source.context, entry->tensor, entry->layer, GPT2_F32, GPT2_OUT_IN, values, error) &&
               gpt2_output_write(output, values, bytes, error);
        free(values);
        if (!good) { return false; }
    }
    return true;
}

static bool write_optimizer(const char *folder, struct gpt2_trainer *trainer, const char *const *notes,
                            struct gpt2_error *error) {
    struct gpt2_source source = gpt2_trainer_source(trainer, GPT2_MOMENT1);
    struct listing listing = {.count = 0};
    struct gpt2_output output = {0};
    size_t size = 0;
    char *path = gpt2_path(folder, optimizer_name);
    void *algorithms = gpt2_trainer_algorithms(trainer, &size);
    bool good = (path != NULL && algorithms != NULL) || gpt2_fail(error, "out of memory");
    good = good && list_tensors(&listing, &source.config, error);
    if (good) {
        listing.tensors[listing.count] = (struct safetensors_tensor){
            .name = algorithms_name, .type = "U8", .dimensions = 1, .shape = {(int64_t)size}};
        good = safetensors_begin(&output, path, listing.tensors, listing.count + 1, notes, error) &&
               write_tensors(&output, &listing, trainer, error) &&
               gpt2_output_write(&output, algorithms, size, error) && gpt2_output_commit(&output, error);
    }
    gpt2_output_abandon(&output);
    free(listing.entries);
    free(listing.tensors);
    free(algorithms);
    free(path);
    return good;
}

/* ---- writing a checkpoint ---- */

static bool fill(const char *folder, struct gpt2_trainer *trainer, const struct gpt2_tokenizer *tokenizer,
                 const char *const *notes, struct gpt2_error *error) {
    struct gpt2_source weights = gpt2_trainer_source(trainer, GPT2_WEIGHTS);
    return gpt2_hf_write(folder, &weights, GPT2_F32, gpt2_tokenizer_end_of_text(tokenizer), error) &&
           gpt2_tokenizer_write_hf(tokenizer, folder, error) && write_optimizer(folder, trainer, notes, error);
}

bool gpt2_checkpoint_write(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_trainer *trainer,
                           const struct gpt2_tokenizer *tokenizer, const char *const *notes, struct gpt2_error *error) {
    char *part = gpt2_out_begin(out, step, error);
    bool good = part != NULL && fill(part, trainer, tokenizer, notes, error) && gpt2_out_commit(out, step, best, error);
    if (!good) { gpt2_out_abandon(out, step); }
    free(part);
    return good;
}

/* ---- restoring ---- */

bool gpt2_checkpoint_open(struct safetensors *file, const char *folder, struct gpt2_error *error) {
    char *path = gpt2_path(folder, optimizer_name);
    bool good = path != NULL ? safetensors_open(file, path, error) : gpt2_fail(error, "out of memory");
    free(path);
    return good;
}

struct moment {
    const struct safetensors *file;
    const char *prefix;
};

static bool read_moment(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                        void *out, struct gpt2_error *error) {
    const struct moment *moment = context;
    char name[GPT2_NAME_BYTES + 2];
    memcpy(name, moment->prefix, 2);
    gpt2_tensor_name(tensor, layer, name + 2);
    const struct safetensors_tensor *found = safetensors_find(moment->file, name);
    (void)type, (void)layout; /* always F32 and OUT_IN here; the shapes have been checked */
    if (found == NULL) { return gpt2_fail(error, "%s: no tensor %s", moment->file->file.path, name); }
    memcpy(out, found->bytes, found->end - found->begin);
    return true;
}

static bool shapes_fit(const struct safetensors *file, const struct gpt2_config *config, struct gpt2_error *error) {
    struct listing listing = {.count = 0};
    bool good = list_tensors(&listing, config, error);
    for (int i = 0; good && i < listing.count; i++) {
        const struct safetensors_tensor *wanted = &listing.tensors[i], *got = safetensors_find(file, wanted->name);
        good = got != NULL && strcmp(got->type, wanted->type) == 0 && got->dimensions == wanted->dimensions &&
               memcmp(got->shape, wanted->shape, (size_t)got->dimensions * sizeof got->shape[0]) == 0;
        if (!good) { gpt2_fail(error, "%s: no tensor %s of the model's shape", file->file.path, wanted->name); }
    }
    free(listing.entries);
    free(listing.tensors);
    return good;
}

bool gpt2_checkpoint_restore(const struct safetensors *file, struct gpt2_trainer *trainer, bool *same_bits,
                             struct gpt2_error *error) {
    struct moment moments[] = {{file, "m."}, {file, "v."}};
    struct gpt2_source source = gpt2_trainer_source(trainer, GPT2_MOMENT1);
    if (!shapes_fit(file, &source.config, error)) { return false; }
    for (int i = 0; i < 2; i++) {
        source.read = read_moment;
        source.context = &moments[i];
        if (!gpt2_trainer_load(trainer, (enum gpt2_part)(GPT2_MOMENT1 + i), &source, error)) { return false; }
    }
    char device[320];
    gpt2_trainer_device(trainer, device, sizeof device);
    const char *then = safetensors_metadata(file, "device");
    const struct safetensors_tensor *algorithms = safetensors_find(file, algorithms_name);
    *same_bits = then != NULL && strcmp(then, device) == 0 && algorithms != NULL &&
                 gpt2_trainer_use_algorithms(trainer, algorithms->bytes, (size_t)(algorithms->end - algorithms->begin));
    return true;
}

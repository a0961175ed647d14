#include "gpt2/train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/hf.h"

static const char optimizer_name[] = "optimizer.safetensors";
static const char algorithms_name[] = "matmul-algorithms"; /* "algorithms", of old, lacked those of attention */

/* ---- the optimizer's file ---- */

struct entry {
    char name[GPT2_NAME_BYTES + 2];
    enum gpt2_part part;
    enum gpt2_tensor tensor;
    int layer;
};

struct listing {
    struct entry *entries;
    struct safetensors_tensor *tensors; /* the entries', and the algorithms */
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
            for (int layer = 0; layer < (gpt2_tensor_is_layered(t) ? config->layers : 1); layer++) {
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

/* ---- the whole ---- */

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

/* ---- going on ---- */

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
    (void)type, (void)layout; /* a trainer loads F32 and OUT_IN, and the shapes have been checked */
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

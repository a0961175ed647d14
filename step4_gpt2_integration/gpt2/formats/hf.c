#include "hf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/safetensors.h"

static const char prefix[] = "transformer.", head_name[] = "lm_head.weight";

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* ---- a tensor of the file becomes a view ---- */

static bool read_type(const struct safetensors_tensor *tensor, enum gpt2_type *type) {
    for (int i = GPT2_F32; i <= GPT2_BF16; i++) {
        *type = (enum gpt2_type)i;
        if (strcmp(tensor->type, gpt2_type_name(*type)) == 0) { return true; }
    }
    return false;
}

static void print_shape(char *text, size_t size, int dimensions, const int64_t *shape) {
    size_t length = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < dimensions && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%lld", i ? ", " : "", (long long)shape[i]);
    }
    if (length < size) { snprintf(text + length, size - length, ")"); }
}

static bool check_shape(const struct gpt2_weights *weights, const struct safetensors_tensor *found,
                        enum gpt2_tensor tensor, struct gpt2_error *error) {
    const struct gpt2_config *config = &weights->config;
    int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    bool by_in = gpt2_tensor_is_linear(tensor);
    int64_t shape[2] = {by_in ? columns : rows, by_in ? rows : columns};
    int dimensions = gpt2_tensor_dimensions(tensor);
    if (found->dimensions == dimensions && memcmp(found->shape, shape, (size_t)dimensions * sizeof *shape) == 0) {
        return true;
    }
    char got[120], wanted[60];
    print_shape(got, sizeof got, found->dimensions, found->shape);
    print_shape(wanted, sizeof wanted, dimensions, shape);
    return gpt2_fail(error, "%s: %s is %s; by config.json it has to be %s%s", weights->file.path, found->name, got,
                     wanted, tensor == GPT2_WTE ? " (vocab_size, n_embd)" : "");
}

static bool add(struct gpt2_weights *weights, const struct safetensors_tensor *found, const char *name,
                struct gpt2_error *error) {
    enum gpt2_tensor tensor;
    int layer;
    const char *file = weights->file.path;
    if (!gpt2_tensor_find(name, &tensor, &layer)) {
        return gpt2_fail(error, "%s: %s is no tensor of a GPT-2", file, found->name);
    }
    if (layer >= weights->config.layers) {
        return gpt2_fail(error, "%s: %s: config.json has %d layers only", file, found->name, weights->config.layers);
    }
    struct gpt2_view *view = gpt2_weights_view(weights, tensor, layer);
    if (view->bytes) { return gpt2_fail(error, "%s: %s is there twice, with and without prefix", file, name); }
    *view = (struct gpt2_view){.bytes = found->bytes,
                               .layout = gpt2_tensor_is_linear(tensor) ? GPT2_IN_OUT : GPT2_OUT_IN,
                               .rows = gpt2_tensor_rows(&weights->config, tensor),
                               .columns = gpt2_tensor_columns(&weights->config, tensor)};
    if (!read_type(found, &view->type)) {
        return gpt2_fail(error, "%s: %s is of type %s; weights are F32, F16 or BF16", file, found->name, found->type);
    }
    return check_shape(weights, found, tensor, error);
}

/* ---- all of them ---- */

static bool is_mask(const char *name) {
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias"); /* not c_attn.bias: mind the dot */
}

static bool check_head(const struct gpt2_weights *weights, const struct safetensors_tensor *head,
                       struct gpt2_error *error) {
    const struct gpt2_view *wte = gpt2_weights_view(weights, GPT2_WTE, 0);
    size_t bytes = (size_t)(wte->rows * wte->columns) * gpt2_type_bytes(wte->type);
    if (strcmp(head->type, gpt2_type_name(wte->type)) == 0 && head->end - head->begin == bytes &&
        memcmp(head->bytes, wte->bytes, bytes) == 0) {
        return true;
    }
    return gpt2_fail(error, "%s: %s differs from wte.weight: a model whose head is not tied is not read",
                     weights->file.path, head_name);
}

static bool check_complete(const struct gpt2_weights *weights, struct gpt2_error *error) {
    int missing = 0;
    char first[GPT2_NAME_BYTES] = "", name[GPT2_NAME_BYTES];
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        int layers = gpt2_tensor_is_layered((enum gpt2_tensor)tensor) ? weights->config.layers : 1;
        for (int layer = 0; layer < layers; layer++) {
            if (gpt2_weights_view(weights, (enum gpt2_tensor)tensor, layer)->bytes) { continue; }
            gpt2_tensor_name((enum gpt2_tensor)tensor, layer, name);
            if (missing++ == 0) { memcpy(first, name, sizeof first); }
        }
    }
    if (missing == 0) { return true; }
    if (missing == 1) { return gpt2_fail(error, "%s: %s is missing", weights->file.path, first); }
    return gpt2_fail(error, "%s: %s and %d more tensors are missing", weights->file.path, first, missing - 1);
}

static bool read_tensors(struct gpt2_weights *weights, const struct safetensors *safetensors,
                         struct gpt2_error *error) {
    const struct safetensors_tensor *head = NULL;
    for (int i = 0; i < safetensors->count; i++) {
        const struct safetensors_tensor *tensor = &safetensors->tensors[i];
        const char *name = tensor->name;
        if (strncmp(name, prefix, strlen(prefix)) == 0) { name += strlen(prefix); }
        if (is_mask(name)) { continue; }
        if (strcmp(name, head_name) == 0) {
            head = tensor;
        } else if (!add(weights, tensor, name, error)) {
            return false;
        }
    }
    return check_complete(weights, error) && (!head || check_head(weights, head, error));
}

/* ---- the files ---- */

/* A hint where another kind of folder was given. */
static bool check_present(const char *folder, const char *model, struct gpt2_error *error) {
    static const char *const others[] = {"model.safetensors.index.json", "pytorch_model.bin", "tf_model.h5"};
    struct stat status;
    if (stat(model, &status) == 0) { return true; }
    int reason = errno;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *other = gpt2_path(folder, others[i]);
        bool there = other && stat(other, &status) == 0;
        free(other);
        if (there) {
            return gpt2_fail(error, "%s: %s; there is %s, which is not read: save the model as one safetensors file",
                             model, strerror(reason), others[i]);
        }
    }
    return gpt2_fail(error, "%s: %s", model, strerror(reason));
}

static bool open_files(struct gpt2_weights *weights, const char *folder, const char *model, struct gpt2_error *error) {
    struct safetensors safetensors;
    char *config = gpt2_path(folder, "config.json");
    if (!config) { return gpt2_fail(error, "%s: out of memory", folder); }
    bool ok = gpt2_hf_config(&weights->config, config, error) && check_present(folder, model, error) &&
              safetensors_open(&safetensors, model, error);
    free(config);
    if (!ok) { return false; }
    weights->file = safetensors.file; /* the mapping moves over; the header is done with */
    ok = gpt2_weights_allocate(weights, error) && read_tensors(weights, &safetensors, error);
    safetensors.file = (struct gpt2_file){0};
    safetensors_close(&safetensors);
    return ok;
}

bool gpt2_hf_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error) {
    *weights = (struct gpt2_weights){0};
    bool is_file = ends_with(path, ".safetensors");
    char *model = is_file ? strdup(path) : gpt2_path(path, "model.safetensors"), *folder = strdup(path);
    if (is_file && folder) {
        char *slash = strrchr(folder, '/');
        if (slash) {
            slash[slash == folder] = '\0';
        } else {
            folder[0] = '.', folder[1] = '\0';
        }
    }
    bool ok = model && folder ? open_files(weights, folder, model, error) : gpt2_fail(error, "%s: out of memory", path);
    if (!ok) { gpt2_weights_close(weights); }
    free(model);
    free(folder);
    return ok;
}

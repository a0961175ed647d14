/* hf.c — a GPT-2 in a folder of Hugging Face's: config.json and model.safetensors, read and written (hf.h). */
#include "hf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/json.h"
#include "gpt2/formats/safetensors.h"

/* ---- config.json ---- */

enum { MOST_BYTES = 1 << 20 };

static bool read_size(const cJSON *root, const char *key, const char *older, const char *file, int *size,
                      struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    int64_t value;
    if (!item && older) { item = cJSON_GetObjectItemCaseSensitive(root, older); }
    if (!item) { return gpt2_fail(error, "%s: %s is missing", file, key); }
    if (!gpt2_json_integer(item, &value) || value > INT32_MAX) {
        return gpt2_fail(error, "%s: %s is not a whole number below 2^31", file, key);
    }
    *size = (int)value;
    return true;
}

/* Settings that change the computation. Absent or null means GPT-2's value. */
static const struct {
    const char *key;
    bool value;
} flags[] = {
    {"scale_attn_weights", true},  {"scale_attn_by_inverse_layer_idx", false},
    {"tie_word_embeddings", true}, {"add_cross_attention", false},
    {"is_encoder_decoder", false},
};

static bool check_text(const cJSON *root, const char *key, const char *const *allowed, const char *file,
                       struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!item || cJSON_IsNull(item)) { return true; }
    const char *text = cJSON_GetStringValue(item);
    for (const char *const *one = allowed; text && *one; one++) {
        if (strcmp(*one, text) == 0) { return true; }
    }
    return gpt2_fail(error, "%s: %s is %.40s; this program computes %s only", file, key, text ? text : "no text",
                     allowed[0]);
}

static bool check_kind(const cJSON *root, const struct gpt2_config *config, const char *file,
                       struct gpt2_error *error) {
    static const char *const models[] = {"gpt2", NULL}; /* all three activations are the tanh form */
    static const char *const activations[] = {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", NULL};
    if (!check_text(root, "model_type", models, file, error) ||
        !check_text(root, "activation_function", activations, file, error)) {
        return false;
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, flags[i].key);
        if (item && !cJSON_IsNull(item) && !(flags[i].value ? cJSON_IsTrue(item) : cJSON_IsFalse(item))) {
            return gpt2_fail(error, "%s: %s is not %s: that is another model", file, flags[i].key,
                             flags[i].value ? "true" : "false");
        }
    }
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "n_inner");
    int64_t width;
    if (inner && !cJSON_IsNull(inner) &&
        !(gpt2_json_integer(inner, &width) && width == 4 * (int64_t)config->channels)) {
        return gpt2_fail(error, "%s: n_inner is not 4 times n_embd: that is another model", file);
    }
    return true;
}

bool gpt2_hf_config(struct gpt2_config *config, const char *path, struct gpt2_error *error) {
    *config = (struct gpt2_config){.epsilon = 1e-5f};
    cJSON *root = gpt2_json_read(path, MOST_BYTES, error);
    if (!root) { return false; }
    bool ok = read_size(root, "n_layer", NULL, path, &config->layers, error) &&
              read_size(root, "n_head", NULL, path, &config->heads, error) &&
              read_size(root, "n_embd", NULL, path, &config->channels, error) &&
              read_size(root, "n_positions", "n_ctx", path, &config->max_tokens, error) &&
              read_size(root, "vocab_size", NULL, path, &config->vocabulary, error) &&
              check_kind(root, config, path, error);
    const cJSON *epsilon = cJSON_GetObjectItemCaseSensitive(root, "layer_norm_epsilon");
    if (ok && epsilon && !cJSON_IsNumber(epsilon)) {
        ok = gpt2_fail(error, "%s: layer_norm_epsilon is not a number", path);
    } else if (ok && epsilon) {
        config->epsilon = (float)epsilon->valuedouble;
    }
    cJSON_Delete(root);
    if (!ok) { return false; }
    config->padded_vocabulary = config->vocabulary; /* checked before it is rounded up, which could overflow */
    if (!gpt2_config_check(config, path, error)) { return false; }
    config->padded_vocabulary = gpt2_pad_vocabulary(config->vocabulary);
    return true;
}

/* ---- reading ---- */

static const char prefix[] = "transformer.", head_name[] = "lm_head.weight";

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* ---- reading one tensor as a view ---- */

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
        return gpt2_fail(error, "%s: %s is not a tensor of a GPT-2", file, found->name);
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

/* ---- reading all tensors ---- */

static bool is_mask(const char *name) {
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias"); /* the dot excludes c_attn.bias */
}

static bool check_head(const struct gpt2_weights *weights, const struct safetensors_tensor *head,
                       struct gpt2_error *error) {
    const struct gpt2_view *wte = gpt2_weights_view(weights, GPT2_WTE, 0);
    size_t bytes = (size_t)(wte->rows * wte->columns) * gpt2_type_bytes(wte->type);
    if (strcmp(head->type, gpt2_type_name(wte->type)) == 0 && head->end - head->begin == bytes &&
        memcmp(head->bytes, wte->bytes, bytes) == 0) {
        return true;
    }
    return gpt2_fail(error, "%s: %s differs from wte.weight: models with an untied head are not supported",
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

/* ---- opening the files ---- */

/* Names the file that is there instead, for a folder of another kind. */
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
            return gpt2_fail(error,
                             "%s: %s; there is %s, which is not supported: save the model as one safetensors file",
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
    weights->file = safetensors.file; /* the mapping stays; the header is no longer needed */
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

/* ---- writing ---- */

/* The fewest digits that are read back as this float: 1e-05, not 9.99999975e-06. */
static void print_float(char *text, size_t size, float value) {
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, size, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) { return; }
    }
}

static bool write_config(const char *folder, const struct gpt2_config *config, int end_of_text,
                         struct gpt2_error *error) {
    char text[1024], epsilon[32];
    if (end_of_text < 0) { end_of_text = config->vocabulary - 1; }
    print_float(epsilon, sizeof epsilon, config->epsilon);
    char *path = gpt2_path(folder, "config.json");
    int length = snprintf(text, sizeof text,
                          "{\n"
                          "  \"model_type\": \"gpt2\",\n"
                          "  \"architectures\": [\"GPT2LMHeadModel\"],\n"
                          "  \"activation_function\": \"gelu_new\",\n"
                          "  \"n_layer\": %d,\n"
                          "  \"n_head\": %d,\n"
                          "  \"n_embd\": %d,\n"
                          "  \"n_positions\": %d,\n"
                          "  \"n_ctx\": %d,\n"
                          "  \"vocab_size\": %d,\n"
                          "  \"layer_norm_epsilon\": %s,\n"
                          "  \"bos_token_id\": %d,\n"
                          "  \"eos_token_id\": %d\n"
                          "}\n",
                          config->layers, config->heads, config->channels, config->max_tokens, config->max_tokens,
                          config->vocabulary, epsilon, end_of_text, end_of_text);
    bool ok = path ? gpt2_file_write(path, text, (size_t)length, error) : gpt2_fail(error, "%s: out of memory", folder);
    free(path);
    return ok;
}

/* One entry of the header for each tensor of each layer. */
struct plan {
    struct safetensors_tensor *tensors;
    char (*names)[sizeof prefix + GPT2_NAME_BYTES];
    int count;
};

static void add_entry(struct plan *plan, const struct gpt2_config *config, enum gpt2_tensor tensor, int layer,
                      enum gpt2_type type) {
    struct safetensors_tensor *entry = &plan->tensors[plan->count];
    char *name = plan->names[plan->count++];
    int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    bool linear = gpt2_tensor_is_linear(tensor);
    memcpy(name, prefix, sizeof prefix);
    gpt2_tensor_name(tensor, layer, name + strlen(prefix));
    *entry = (struct safetensors_tensor){.name = name, .type = gpt2_type_name(type)};
    entry->dimensions = gpt2_tensor_dimensions(tensor);
    entry->shape[0] = linear ? columns : rows;
    entry->shape[1] = linear ? rows : columns;
}

/* Calls visit() for every tensor in the order of the file: embeddings, layers, last LayerNorm. */
static bool each(const struct gpt2_config *config, bool (*visit)(void *, enum gpt2_tensor, int), void *context) {
    for (int tensor = GPT2_WTE; tensor <= GPT2_WPE; tensor++) {
        if (!visit(context, (enum gpt2_tensor)tensor, 0)) { return false; }
    }
    for (int layer = 0; layer < config->layers; layer++) {
        for (int tensor = GPT2_LN1W; tensor <= GPT2_FCPROJB; tensor++) {
            if (!visit(context, (enum gpt2_tensor)tensor, layer)) { return false; }
        }
    }
    return visit(context, GPT2_LNFW, 0) && visit(context, GPT2_LNFB, 0);
}

struct writer {
    const struct gpt2_source *source;
    enum gpt2_type type;
    struct gpt2_error *error;
    struct plan plan;
    struct gpt2_output output;
    void *buffer; /* room for the largest tensor */
};

static bool plan_one(void *context, enum gpt2_tensor tensor, int layer) {
    struct writer *writer = context;
    add_entry(&writer->plan, &writer->source->config, tensor, layer, writer->type);
    return true;
}

static bool write_one(void *context, enum gpt2_tensor tensor, int layer) {
    struct writer *writer = context;
    const struct gpt2_source *source = writer->source;
    size_t bytes = (size_t)gpt2_tensor_elements(&source->config, tensor) * gpt2_type_bytes(writer->type);
    return source->read(source->context, tensor, layer, writer->type, GPT2_IN_OUT, writer->buffer, writer->error) &&
           gpt2_output_write(&writer->output, writer->buffer, bytes, writer->error);
}

static bool write_model(struct writer *writer, const char *path) {
    static const char *const metadata[] = {"format", "pt", NULL}; /* transformers refuses files without it */
    const struct gpt2_config *config = &writer->source->config;
    each(config, plan_one, writer);
    bool ok =
        safetensors_begin(&writer->output, path, writer->plan.tensors, writer->plan.count, metadata, writer->error) &&
        each(config, write_one, writer) && gpt2_output_commit(&writer->output, writer->error);
    gpt2_output_abandon(&writer->output);
    return ok;
}

bool gpt2_hf_write(const char *folder, const struct gpt2_source *source, enum gpt2_type type, int end_of_text,
                   struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    if (!gpt2_config_check(config, folder, error)) { return false; }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) { return gpt2_fail(error, "%s: %s", folder, strerror(errno)); }
    size_t entries = (size_t)config->layers * GPT2_TENSORS;
    int64_t largest = 0;
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        int64_t elements = gpt2_tensor_elements(config, (enum gpt2_tensor)tensor);
        if (elements > largest) { largest = elements; }
    }
    struct writer writer = {.source = source, .type = type, .error = error};
    writer.plan.tensors = calloc(entries, sizeof *writer.plan.tensors);
    writer.plan.names = calloc(entries, sizeof *writer.plan.names);
    writer.buffer = malloc((size_t)largest * gpt2_type_bytes(type));
    char *path = gpt2_path(folder, "model.safetensors");
    bool ok = writer.plan.tensors && writer.plan.names && writer.buffer && path;
    if (!ok) {
        gpt2_fail(error, "%s: out of memory", folder);
    } else {
        ok = write_config(folder, config, end_of_text, error) && write_model(&writer, path);
    }
    free(writer.plan.tensors);
    free(writer.plan.names);
    free(writer.buffer);
    free(path);
    return ok;
}

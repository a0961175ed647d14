/* hf.c — the tensors of a GPT-2 in a folder of Hugging Face's, read and written (hf.h). hf_config.c reads config.json. */
#include "hf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/codes.h"
#include "gpt2/formats/hf_index.h"
#include "gpt2/formats/safetensors.h"

/* ---- reading ---- */

static const char prefix[] = "transformer.";

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

/* The codes of weights in 8 bits. */
static bool read_scheme(const struct safetensors_tensor *tensor, enum gpt2_scheme *scheme) {
    for (int i = GPT2_INT8; i <= GPT2_FP8; i++) {
        *scheme = (enum gpt2_scheme)i;
        if (strcmp(tensor->type, gpt2_scheme_type(*scheme)) == 0) { return true; }
    }
    *scheme = GPT2_PLAIN;
    return false;
}

static void print_shape(char *text, size_t size, int dimensions, const int64_t *shape) {
    size_t length = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < dimensions && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%lld", i ? ", " : "", (long long)shape[i]);
    }
    if (length < size) { snprintf(text + length, size - length, ")"); }
}

/* The files of a model, one after the other. */
struct reading {
    struct gpt2_weights *weights;
    const char *file;             /* the one that is read */
    const struct hf_index *index; /* NULL: the model is in one file */
    struct gpt2_view head;        /* lm_head.weight of a tied model */
    int count;                    /* of the tensors in the files so far, without masks */
};

static bool check_shape(const struct reading *reading, const struct safetensors_tensor *found, enum gpt2_tensor tensor,
                        struct gpt2_error *error) {
    const struct gpt2_config *config = &reading->weights->config;
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
    return gpt2_fail(error, "%s: %s is %s; by config.json it has to be %s%s", reading->file, found->name, got, wanted,
                     tensor == GPT2_WTE || tensor == GPT2_HEAD ? " (vocab_size, n_embd)" : "");
}

/* "h.3.attn.c_attn.weight_scale": the scales of h.3.attn.c_attn.weight, whose name is written to plain[GPT2_NAME_BYTES]. */
static bool is_scale(const char *name, char *plain) {
    static const char end[] = "_scale";
    const size_t length = strlen(name), rest = length - strlen(end);
    if (!ends_with(name, end) || rest >= GPT2_NAME_BYTES) { return false; }
    memcpy(plain, name, rest);
    plain[rest] = '\0';
    return true;
}

static bool add_scales(struct gpt2_view *view, const struct safetensors_tensor *found, int64_t rows, const char *file,
                       struct gpt2_error *error) {
    if (view->scales) { return gpt2_fail(error, "%s: %s is there twice, with and without prefix", file, found->name); }
    if (strcmp(found->type, "F32") != 0 || found->dimensions != 1 || found->shape[0] != rows) {
        return gpt2_fail(error, "%s: %s has to be %lld scales of type F32", file, found->name, (long long)rows);
    }
    view->scales = found->bytes;
    return true;
}

/* "h.3.attn.c_attn.input_scale": of the product with h.3.attn.c_attn.weight. */
static const char input_scale[] = ".input_scale";

static bool add_input_scale(struct gpt2_weights *weights, const struct safetensors_tensor *found, const char *name,
                            const char *file, struct gpt2_error *error) {
    enum gpt2_tensor tensor;
    int layer;
    char plain[GPT2_NAME_BYTES + sizeof input_scale];
    const size_t rest = strlen(name) - strlen(input_scale);
    if (rest >= GPT2_NAME_BYTES) { return gpt2_fail(error, "%s: %s is not a tensor of a GPT-2", file, found->name); }
    snprintf(plain, sizeof plain, "%.*s.weight", (int)rest, name);
    if (!gpt2_tensor_find(plain, &tensor, &layer) || gpt2_tensor_product(tensor) < 0 ||
        layer >= weights->config.layers) {
        return gpt2_fail(error, "%s: %s is not a tensor of a GPT-2", file, found->name);
    }
    if (strcmp(found->type, "F32") != 0 || found->dimensions != 1 || found->shape[0] != 1) {
        return gpt2_fail(error, "%s: %s has to be one scale of type F32", file, found->name);
    }
    if (!weights->input_scales) {
        weights->input_scales = calloc((size_t)weights->config.layers * GPT2_PRODUCTS, sizeof *weights->input_scales);
        if (!weights->input_scales) { return gpt2_fail(error, "%s: out of memory", file); }
    }
    float *scale = &weights->input_scales[layer * GPT2_PRODUCTS + gpt2_tensor_product(tensor)];
    if (*scale != 0.0f) { return gpt2_fail(error, "%s: %s is there twice, with and without prefix", file, name); }
    memcpy(scale, found->bytes, sizeof *scale);
    return (isfinite(*scale) && *scale > 0.0f) ||
           gpt2_fail(error, "%s: %s has to be a positive number", file, found->name);
}

static bool add(struct reading *reading, const struct safetensors_tensor *found, const char *name,
                struct gpt2_error *error) {
    struct gpt2_weights *weights = reading->weights;
    enum gpt2_tensor tensor;
    int layer;
    const char *file = reading->file;
    char plain[GPT2_NAME_BYTES];
    if (ends_with(name, input_scale)) { return add_input_scale(weights, found, name, file, error); }
    const bool scales = is_scale(name, plain);
    if (!gpt2_tensor_find(scales ? plain : name, &tensor, &layer) ||
        (scales && !gpt2_tensor_in_codes(&weights->config, tensor) && tensor != GPT2_HEAD)) {
        return gpt2_fail(error, "%s: %s is not a tensor of a GPT-2", file, found->name);
    }
    if (layer >= weights->config.layers) {
        return gpt2_fail(error, "%s: %s: config.json has %d layers only", file, found->name, weights->config.layers);
    }
    bool is_tied_head = tensor == GPT2_HEAD && !weights->config.untied;
    if (is_tied_head) { tensor = GPT2_WTE; } /* it has to be the same; check_head */
    struct gpt2_view *view = is_tied_head ? &reading->head : gpt2_weights_view(weights, tensor, layer);
    if (scales) { return add_scales(view, found, gpt2_tensor_rows(&weights->config, tensor), file, error); }
    if (view->bytes) { return gpt2_fail(error, "%s: %s is there twice, with and without prefix", file, name); }
    *view = (struct gpt2_view){.bytes = found->bytes,
                               .layout = gpt2_tensor_is_linear(tensor) ? GPT2_IN_OUT : GPT2_OUT_IN,
                               .rows = gpt2_tensor_rows(&weights->config, tensor),
                               .columns = gpt2_tensor_columns(&weights->config, tensor),
                               .scales = view->scales};
    const bool in_codes = gpt2_tensor_in_codes(&weights->config, tensor) && read_scheme(found, &view->scheme);
    if (!in_codes && !read_type(found, &view->type)) {
        return gpt2_fail(error, "%s: %s is of type %s; weights are F32, F16 or BF16%s", file, found->name, found->type,
                         gpt2_tensor_in_codes(&weights->config, tensor) ? ", or codes: I8 or F8_E4M3" : "");
    }
    return check_shape(reading, found, tensor, error);
}

/* ---- reading all tensors ---- */

static bool is_mask(const char *name) {
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias"); /* the dot excludes c_attn.bias */
}

static bool check_head(const struct reading *reading, struct gpt2_error *error) {
    const struct gpt2_view *wte = gpt2_weights_view(reading->weights, GPT2_WTE, 0), *head = &reading->head;
    const bool in_codes = wte->scheme != GPT2_PLAIN;
    size_t bytes = (size_t)(wte->rows * wte->columns) * (in_codes ? 1 : gpt2_type_bytes(wte->type));
    if (!head->bytes && !head->scales) { return true; }
    if (head->bytes && head->scheme == wte->scheme && head->type == wte->type && !head->scales == !wte->scales &&
        memcmp(head->bytes, wte->bytes, bytes) == 0 &&
        (!in_codes || memcmp(head->scales, wte->scales, (size_t)wte->rows * sizeof(float)) == 0)) {
        return true;
    }
    return gpt2_fail(
        error,
        "%s: lm_head.weight differs from wte.weight, and config.json ties them: is \"tie_word_embeddings\": "
        "false missing there?",
        reading->weights->file.path);
}

static bool check_complete(const struct gpt2_weights *weights, struct gpt2_error *error) {
    int missing = 0;
    char first[GPT2_NAME_BYTES] = "", name[GPT2_NAME_BYTES];
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        int layers = gpt2_tensor_layers(&weights->config, (enum gpt2_tensor)tensor);
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

/* Either all tensors that can be in 8 bits are, in one scheme and with scales, or none. */
static bool check_schemes(struct gpt2_weights *weights, struct gpt2_error *error) {
    weights->scheme = gpt2_weights_view(weights, GPT2_QKVW, 0)->scheme;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        if (!gpt2_tensor_in_codes(&weights->config, tensor)) { continue; }
        for (int layer = 0; layer < gpt2_tensor_layers(&weights->config, tensor); layer++) {
            const struct gpt2_view *view = gpt2_weights_view(weights, tensor, layer);
            char name[GPT2_NAME_BYTES];
            gpt2_tensor_name(tensor, layer, name);
            if (view->scheme != weights->scheme) {
                return gpt2_fail(error, "%s: %s is %s, and other weights are %s", weights->file.path, name,
                                 gpt2_scheme_name(view->scheme), gpt2_scheme_name(weights->scheme));
            }
            if ((view->scales != NULL) != (view->scheme != GPT2_PLAIN)) {
                return gpt2_fail(error, "%s: %s %s", weights->file.path, name,
                                 view->scales ? "has scales, and is not in 8 bits" : "is in 8 bits, and has no scales");
            }
        }
    }
    return true;
}

static bool has_one_scale(const struct gpt2_view *view) {
    const uint8_t *scales = view->scales;
    for (int64_t row = 1; row < view->rows; row++) {
        if (memcmp(scales, scales + (size_t)row * sizeof(float), sizeof(float)) != 0) { return false; }
    }
    return true;
}

/* Either all products have a scale of their input, or none. Its codes multiply codes; those of fp8 have one scale for a
 * matrix. */
static bool check_input_scales(const struct gpt2_weights *weights, struct gpt2_error *error) {
    for (int i = 0; i < GPT2_TENSORS && weights->input_scales; i++) {
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        const int product = gpt2_tensor_product(tensor);
        for (int layer = 0; product >= 0 && layer < weights->config.layers; layer++) {
            char name[GPT2_NAME_BYTES];
            gpt2_tensor_name(tensor, layer, name);
            if (weights->scheme == GPT2_PLAIN || weights->input_scales[layer * GPT2_PRODUCTS + product] == 0.0f) {
                return gpt2_fail(error, "%s: %s %s", weights->file.path, name,
                                 weights->scheme == GPT2_PLAIN ? "is not in 8 bits, and its input is"
                                                               : "has no input_scale, and others do");
            }
            if (weights->scheme == GPT2_FP8 && !has_one_scale(gpt2_weights_view(weights, tensor, layer))) {
                return gpt2_fail(error, "%s: %s: with an input in fp8 all its scales have to be equal",
                                 weights->file.path, name);
            }
        }
    }
    return true;
}

/* Is the tensor in the file that the index names? */
static bool check_place(const struct reading *reading, const char *name, struct gpt2_error *error) {
    const char *wanted = hf_index_find(reading->index, name), *slash = strrchr(reading->file, '/');
    if (wanted && strcmp(wanted, slash ? slash + 1 : reading->file) == 0) { return true; }
    return gpt2_fail(error, "%s: %s is in it, but the index names %s for it", reading->file, name,
                     wanted ? wanted : "no file");
}

static bool read_tensors(struct reading *reading, const struct safetensors *safetensors, struct gpt2_error *error) {
    for (int i = 0; i < safetensors->count; i++) {
        const struct safetensors_tensor *tensor = &safetensors->tensors[i];
        const char *name = tensor->name;
        if (strncmp(name, prefix, strlen(prefix)) == 0) { name += strlen(prefix); }
        if (is_mask(name)) { continue; }
        reading->count++;
        if ((reading->index && !check_place(reading, tensor->name, error)) || !add(reading, tensor, name, error)) {
            return false;
        }
    }
    return true;
}

/* Reads a file and keeps its mapping in *mapped. */
static bool read_file(struct reading *reading, const char *path, struct gpt2_file *mapped, struct gpt2_error *error) {
    struct safetensors safetensors;
    if (!safetensors_open(&safetensors, path, error)) { return false; }
    *mapped = safetensors.file; /* the mapping stays; the header is no longer needed */
    reading->file = mapped->path;
    safetensors.file = (struct gpt2_file){0};
    bool ok = read_tensors(reading, &safetensors, error);
    safetensors_close(&safetensors);
    return ok;
}

/* ---- opening the files ---- */

/* All files of an index. Each tensor that it names must be there: as many are named as were read, each in its place. */
static bool read_parts(struct reading *reading, const char *folder, const struct hf_index *index,
                       struct gpt2_error *error) {
    struct gpt2_weights *weights = reading->weights;
    int named = 0;
    weights->parts = calloc((size_t)index->file_count, sizeof *weights->parts);
    if (!weights->parts) { return gpt2_fail(error, "%s: out of memory", folder); }
    for (int i = 0; i < index->file_count; i++) {
        char *path = gpt2_path(folder, index->files[i]);
        bool ok = path ? read_file(reading, path, &weights->parts[weights->part_count], error)
                       : gpt2_fail(error, "%s: out of memory", folder);
        if (weights->parts[weights->part_count].path) { weights->part_count++; }
        free(path);
        if (!ok) { return false; }
    }
    for (int i = 0; i < index->count; i++) { named += !is_mask(index->entries[i]->string); }
    return named == reading->count || gpt2_fail(error, "%s: it names %d tensors; its files have %d of them",
                                                weights->file.path, named, reading->count);
}

static bool exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

static bool open_index(struct reading *reading, const char *folder, const char *path, struct gpt2_error *error) {
    struct hf_index index;
    if (!gpt2_file_open(&reading->weights->file, path, error) || !hf_index_open(&index, path, error)) { return false; }
    reading->index = &index;
    bool ok = read_parts(reading, folder, &index, error);
    reading->index = NULL;
    hf_index_close(&index);
    return ok;
}

/* Why is there no model? */
static bool fail_without_model(const char *folder, const char *model, struct gpt2_error *error) {
    static const char *const others[] = {"tf_model.h5", "flax_model.msgpack", "rust_model.ot"};
    char *bin = gpt2_path(folder, "pytorch_model.bin"), *parts = gpt2_path(folder, "pytorch_model.bin.index.json");
    bool is_pickled = (bin && exists(bin)) || (parts && exists(parts));
    free(bin);
    free(parts);
    if (is_pickled) {
        return gpt2_fail(error,
                         "%s: it has pytorch_model.bin, whose pickles this program does not read; two lines of Python "
                         "convert it: from transformers import AutoModelForCausalLM; "
                         "AutoModelForCausalLM.from_pretrained(\"%.90s\").save_pretrained(\"%.90s\")",
                         folder, folder, folder);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *other = gpt2_path(folder, others[i]);
        bool there = other && exists(other);
        free(other);
        if (there) {
            return gpt2_fail(error,
                             "%s: No such file; there is %s, which is not supported: save the model as safetensors",
                             model, others[i]);
        }
    }
    return gpt2_fail(error, "%s: %s", model, strerror(ENOENT));
}

static bool read_model(struct gpt2_weights *weights, const char *folder, const char *model, bool is_file,
                       struct gpt2_error *error) {
    struct reading reading = {.weights = weights};
    char *index = gpt2_path(folder, "model.safetensors.index.json");
    bool ok = index ? gpt2_weights_allocate(weights, error) : gpt2_fail(error, "%s: out of memory", folder);
    if (ok && (is_file || exists(model))) {
        ok = read_file(&reading, model, &weights->file, error);
    } else if (ok && exists(index)) {
        ok = open_index(&reading, folder, index, error);
    } else if (ok) {
        ok = fail_without_model(folder, model, error);
    }
    free(index);
    return ok && check_complete(weights, error) && check_schemes(weights, error) &&
           check_input_scales(weights, error) && check_head(&reading, error);
}

static bool open_files(struct gpt2_weights *weights, const char *folder, const char *model, bool is_file,
                       struct gpt2_error *error) {
    char *config = gpt2_path(folder, "config.json"), *generation = gpt2_path(folder, "generation_config.json");
    bool ok = (config && generation) || gpt2_fail(error, "%s: out of memory", folder);
    ok = ok && gpt2_hf_config(&weights->config, config, error) &&
         (!exists(generation) || gpt2_hf_stops(&weights->config.stops, generation, error)) &&
         read_model(weights, folder, model, is_file, error);
    free(config);
    free(generation);
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
    bool ok = model && folder ? open_files(weights, folder, model, is_file, error)
                              : gpt2_fail(error, "%s: out of memory", path);
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

/* eos_token_id: a number, or a list of several or none. */
static void print_stops(char *text, size_t size, const struct gpt2_stops *stops, int32_t end_of_text) {
    const int32_t *ids = stops->given ? stops->ids : &end_of_text;
    int count = stops->given ? stops->count : 1;
    size_t length = 0;
    if (count != 1) { text[length++] = '['; }
    for (int i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%d", i ? ", " : "", (int)ids[i]);
    }
    snprintf(text + length, size - length, "%s", count != 1 ? "]" : "");
}

/* transformers refuses a folder whose quant_method it does not know; without it, it would take codes for weights. */
static void print_scheme(char *text, size_t size, const struct gpt2_source *source) {
    text[0] = '\0';
    if (source->scheme == GPT2_PLAIN) { return; }
    const char *how = source->calibration;
    snprintf(text, size, "  \"quantization_config\": {\"quant_method\": \"gpt2-%s-%s\"%s%s},\n",
             source->input_scales ? "activations" : "weights", gpt2_scheme_name(source->scheme),
             how ? ", \"activations\": " : "", how ? how : "");
}

static bool write_config(const char *folder, const struct gpt2_source *source, int end_of_text,
                         struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    char text[4096], epsilon[32], stops[GPT2_MOST_STOPS * 13 + 3], scheme[2500], settings[2700];
    if (end_of_text < 0) { end_of_text = config->vocabulary - 1; }
    print_stops(stops, sizeof stops, &config->stops, end_of_text);
    print_scheme(scheme, sizeof scheme, source);
    snprintf(settings, sizeof settings, "%s%s%s", scheme, config->untied ? "  \"tie_word_embeddings\": false,\n" : "",
             config->scale_by_layer ? "  \"scale_attn_by_inverse_layer_idx\": true,\n" : "");
    print_float(epsilon, sizeof epsilon, config->epsilon);
    char *path = gpt2_path(folder, "config.json");
    int length =
        snprintf(text, sizeof text,
                 "{\n"
                 "  \"model_type\": \"gpt2\",\n"
                 "  \"architectures\": [\"GPT2LMHeadModel\"],\n"
                 "  \"activation_function\": \"%s\",\n"
                 "%s"
                 "  \"n_layer\": %d,\n"
                 "  \"n_head\": %d,\n"
                 "  \"n_embd\": %d,\n"
                 "  \"n_positions\": %d,\n"
                 "  \"n_ctx\": %d,\n"
                 "  \"vocab_size\": %d,\n"
                 "  \"layer_norm_epsilon\": %s,\n"
                 "  \"bos_token_id\": %d,\n"
                 "  \"eos_token_id\": %s\n"
                 "}\n",
                 gpt2_activation_name(config->activation), settings, config->layers, config->heads, config->channels,
                 config->max_tokens, config->max_tokens, config->vocabulary, epsilon, end_of_text, stops);
    bool ok = path ? gpt2_file_write(path, text, (size_t)length, error) : gpt2_fail(error, "%s: out of memory", folder);
    free(path);
    return ok;
}

/* One entry of the header for each tensor of each layer, two or three for one in 8 bits. */
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
    size_t length = tensor == GPT2_HEAD ? 0 : strlen(prefix); /* the head is beside the transformer */
    memcpy(name, prefix, length);
    gpt2_tensor_name(tensor, layer, name + length);
    *entry = (struct safetensors_tensor){.name = name, .type = gpt2_type_name(type)};
    entry->dimensions = gpt2_tensor_dimensions(tensor);
    entry->shape[0] = linear ? columns : rows;
    entry->shape[1] = linear ? rows : columns;
}

/* Calls visit() for every tensor in the order of the file: embeddings, layers, last LayerNorm, an untied head. */
static bool each(const struct gpt2_config *config, bool (*visit)(void *, enum gpt2_tensor, int), void *context) {
    for (int tensor = GPT2_WTE; tensor <= GPT2_WPE; tensor++) {
        if (!visit(context, (enum gpt2_tensor)tensor, 0)) { return false; }
    }
    for (int layer = 0; layer < config->layers; layer++) {
        for (int tensor = GPT2_LN1W; tensor <= GPT2_FCPROJB; tensor++) {
            if (!visit(context, (enum gpt2_tensor)tensor, layer)) { return false; }
        }
    }
    return visit(context, GPT2_LNFW, 0) && visit(context, GPT2_LNFB, 0) &&
           (!config->untied || visit(context, GPT2_HEAD, 0));
}

struct writer {
    const struct gpt2_source *source;
    enum gpt2_type type;
    struct gpt2_error *error;
    struct plan plan;
    struct gpt2_output output;
    void *buffer;  /* room for the largest tensor */
    void *turned;  /* room for its codes */
    float *scales; /* room for those of a tensor */
};

static bool is_in_codes(const struct gpt2_source *source, enum gpt2_tensor tensor) {
    return source->scheme != GPT2_PLAIN && gpt2_tensor_in_codes(&source->config, tensor);
}

static bool has_input_scale(const struct gpt2_source *source, enum gpt2_tensor tensor) {
    return source->input_scales && gpt2_tensor_product(tensor) >= 0;
}

static bool plan_one(void *context, enum gpt2_tensor tensor, int layer) {
    struct writer *writer = context;
    struct plan *plan = &writer->plan;
    add_entry(plan, &writer->source->config, tensor, layer, writer->type);
    if (is_in_codes(writer->source, tensor)) {
        plan->tensors[plan->count - 1].type = gpt2_scheme_type(writer->source->scheme);
        add_entry(plan, &writer->source->config, tensor, layer, GPT2_F32);
        struct safetensors_tensor *scales = &plan->tensors[plan->count - 1];
        strcat(plan->names[plan->count - 1], "_scale");
        scales->dimensions = 1;
        scales->shape[0] = gpt2_tensor_rows(&writer->source->config, tensor);
    }
    if (has_input_scale(writer->source, tensor)) {
        add_entry(plan, &writer->source->config, tensor, layer, GPT2_F32);
        struct safetensors_tensor *scale = &plan->tensors[plan->count - 1];
        strcpy(strrchr(plan->names[plan->count - 1], '.'), input_scale);
        scale->dimensions = 1;
        scale->shape[0] = 1;
    }
    return true;
}

/* Codes in the layout of the file, then their scales, then that of the input. */
static bool write_codes(struct writer *writer, enum gpt2_tensor tensor, int layer) {
    const struct gpt2_source *source = writer->source;
    const int64_t rows = gpt2_tensor_rows(&source->config, tensor);
    const int64_t columns = gpt2_tensor_columns(&source->config, tensor);
    uint8_t *codes = writer->buffer, *turned = writer->turned;
    if (!source->read_codes(source->context, tensor, layer, codes, writer->scales, writer->error)) { return false; }
    if (gpt2_tensor_is_linear(tensor)) {
        for (int64_t column = 0; column < columns; column++) {
            for (int64_t row = 0; row < rows; row++) { turned[column * rows + row] = codes[row * columns + column]; }
        }
        codes = turned;
    }
    return gpt2_output_write(&writer->output, codes, (size_t)(rows * columns), writer->error) &&
           gpt2_output_write(&writer->output, writer->scales, (size_t)rows * sizeof *writer->scales, writer->error) &&
           (!has_input_scale(source, tensor) ||
            gpt2_output_write(&writer->output,
                              &source->input_scales[layer * GPT2_PRODUCTS + gpt2_tensor_product(tensor)],
                              sizeof *source->input_scales, writer->error));
}

static bool write_one(void *context, enum gpt2_tensor tensor, int layer) {
    struct writer *writer = context;
    const struct gpt2_source *source = writer->source;
    if (is_in_codes(source, tensor)) { return write_codes(writer, tensor, layer); }
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
    size_t entries = 3 * ((size_t)config->layers + 1) * GPT2_TENSORS;
    int64_t largest = 0, most_rows = 0;
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        int64_t elements = gpt2_tensor_elements(config, (enum gpt2_tensor)tensor);
        if (elements > largest) { largest = elements; }
        int64_t rows = gpt2_tensor_rows(config, (enum gpt2_tensor)tensor);
        if (rows > most_rows) { most_rows = rows; }
    }
    struct writer writer = {.source = source, .type = type, .error = error};
    writer.plan.tensors = calloc(entries, sizeof *writer.plan.tensors);
    writer.plan.names = calloc(entries, sizeof *writer.plan.names);
    writer.buffer = malloc((size_t)largest * gpt2_type_bytes(type));
    writer.turned = malloc((size_t)largest);
    writer.scales = malloc((size_t)most_rows * sizeof *writer.scales);
    char *path = gpt2_path(folder, "model.safetensors");
    bool ok = writer.plan.tensors && writer.plan.names && writer.buffer && writer.turned && writer.scales && path;
    if (!ok) {
        gpt2_fail(error, "%s: out of memory", folder);
    } else {
        ok = write_config(folder, source, end_of_text, error) && write_model(&writer, path);
    }
    free(writer.plan.tensors);
    free(writer.plan.names);
    free(writer.buffer);
    free(writer.turned);
    free(writer.scales);
    free(path);
    return ok;
}

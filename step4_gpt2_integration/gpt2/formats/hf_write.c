#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/safetensors.h"

static const char prefix[] = "transformer.";

/* The fewest digits that give this float back: 1e-05, not 9.99999975e-06. */
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

static void add(struct plan *plan, const struct gpt2_config *config, enum gpt2_tensor tensor, int layer,
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

/* visit() of every tensor in the order of the file: the embeddings, layer after layer, the last LayerNorm. */
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
    void *buffer; /* the largest tensor */
};

static bool plan_one(void *context, enum gpt2_tensor tensor, int layer) {
    struct writer *writer = context;
    add(&writer->plan, &writer->source->config, tensor, layer, writer->type);
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
    static const char *const metadata[] = {"format", "pt", NULL}; /* transformers reads no file without it */
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

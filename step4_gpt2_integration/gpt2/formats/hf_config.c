/* hf_config.c — config.json and generation_config.json of a folder of Hugging Face's, read (hf.h). */
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/json.h"

enum { MOST_BYTES = 1 << 20 };

/* other: the name that transformers gives this size in every model. Its value is taken where both are present, as by
 * transformers. */
static bool read_size(const cJSON *root, const char *key, const char *other, const char *file, int *size,
                      struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, other);
    int64_t value;
    if (item) {
        key = other;
    } else {
        item = cJSON_GetObjectItemCaseSensitive(root, key);
    }
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
    {"scale_attn_weights", true},
    {"add_cross_attention", false},
    {"is_encoder_decoder", false},
};

/* Settings that this program computes, either value. (reorder_and_upcast_attn changes the rounding alone.) */
static bool read_flag(const cJSON *root, const char *key, bool absent, const char *file, bool *value,
                      struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    bool is_absent = !item || cJSON_IsNull(item);
    *value = is_absent ? absent : cJSON_IsTrue(item);
    return is_absent || cJSON_IsBool(item) || gpt2_fail(error, "%s: %s is neither true nor false", file, key);
}

/* The names of transformers. */
static const struct {
    const char *name;
    enum gpt2_activation activation;
} activations[] = {
    {"gelu_new", GPT2_GELU_TANH},         {"gelu_pytorch_tanh", GPT2_GELU_TANH},
    {"gelu_python_tanh", GPT2_GELU_TANH}, {"gelu_fast", GPT2_GELU_TANH},
    {"gelu_accurate", GPT2_GELU_TANH},    {"gelu", GPT2_GELU_ERF},
    {"gelu_python", GPT2_GELU_ERF},       {"relu", GPT2_RELU},
};

static bool read_activation(const cJSON *root, const char *file, enum gpt2_activation *activation,
                            struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "activation_function");
    const char *text = cJSON_GetStringValue(item);
    if (!item) { return true; }
    for (size_t i = 0; text && i < sizeof activations / sizeof *activations; i++) {
        *activation = activations[i].activation;
        if (strcmp(text, activations[i].name) == 0) { return true; }
    }
    return gpt2_fail(error, "%s: activation_function is %.40s; this program computes gelu_new, gelu and relu", file,
                     text ? text : "no text");
}

/* ---- the tokens that end a text ---- */

static bool read_stops(const cJSON *root, const char *file, struct gpt2_stops *stops, struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "eos_token_id");
    if (!item || cJSON_IsNull(item)) { return true; }
    struct gpt2_stops read = {.given = true};
    for (const cJSON *id = cJSON_IsArray(item) ? item->child : item; id; id = cJSON_IsArray(item) ? id->next : NULL) {
        double value = cJSON_IsNumber(id) ? id->valuedouble : 0.5;
        if (!(value >= INT32_MIN && value <= INT32_MAX) || value != (double)(int32_t)value) {
            return gpt2_fail(error, "%s: eos_token_id is neither a token's number nor a list of them", file);
        }
        if (read.count == GPT2_MOST_STOPS) {
            return gpt2_fail(error, "%s: eos_token_id names more than %d tokens", file, (int)GPT2_MOST_STOPS);
        }
        read.ids[read.count++] = (int32_t)value;
    }
    *stops = read;
    return true;
}

bool gpt2_hf_stops(struct gpt2_stops *stops, const char *path, struct gpt2_error *error) {
    cJSON *root = gpt2_json_read(path, MOST_BYTES, error);
    bool ok = root && read_stops(root, path, stops, error);
    cJSON_Delete(root);
    return ok;
}

/* ---- the settings ---- */

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
    static const char *const models[] = {"gpt2", NULL};
    if (!check_text(root, "model_type", models, file, error)) { return false; }
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
    /* Old files have n_ctx alone. */
    bool older =
        !cJSON_GetObjectItemCaseSensitive(root, "n_positions") && cJSON_GetObjectItemCaseSensitive(root, "n_ctx");
    bool tied = true;
    bool ok =
        read_size(root, "n_layer", "num_hidden_layers", path, &config->layers, error) &&
        read_size(root, "n_head", "num_attention_heads", path, &config->heads, error) &&
        read_size(root, "n_embd", "hidden_size", path, &config->channels, error) &&
        read_size(root, older ? "n_ctx" : "n_positions", "max_position_embeddings", path, &config->max_tokens, error) &&
        read_size(root, "vocab_size", "vocab_size", path, &config->vocabulary, error) &&
        check_kind(root, config, path, error) && read_activation(root, path, &config->activation, error) &&
        read_flag(root, "tie_word_embeddings", true, path, &tied, error) &&
        read_flag(root, "scale_attn_by_inverse_layer_idx", false, path, &config->scale_by_layer, error) &&
        read_stops(root, path, &config->stops, error);
    config->untied = !tied;
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

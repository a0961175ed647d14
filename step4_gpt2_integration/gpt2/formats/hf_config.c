/* hf_config.c — config.json: the sizes, and what makes the model another than GPT-2. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/json.h"

enum { MOST_BYTES = 1 << 20 };

static bool read_size(const cJSON *root, const char *key, const char *older, const char *file, int *size,
                      struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    int64_t value;
    if (!item && older) { item = cJSON_GetObjectItemCaseSensitive(root, older); }
    if (!item) { return gpt2_fail(error, "%s: %s is missing", file, key); }
    if (!gpt2_json_integer(item, &value) || value > INT32_MAX) {
        return gpt2_fail(error, "%s: %s is no whole number below 2^31", file, key);
    }
    *size = (int)value;
    return true;
}

/* Settings that change what is computed; absent or null is GPT-2's own. */
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
        ok = gpt2_fail(error, "%s: layer_norm_epsilon is no number", path);
    } else if (ok && epsilon) {
        config->epsilon = (float)epsilon->valuedouble;
    }
    cJSON_Delete(root);
    if (!ok) { return false; }
    config->padded_vocabulary = config->vocabulary; /* the check comes first: rounding up could overflow */
    if (!gpt2_config_check(config, path, error)) { return false; }
    config->padded_vocabulary = gpt2_pad_vocabulary(config->vocabulary);
    return true;
}

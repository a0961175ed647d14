/* hf: the valid forms of the folder, and one error for each invalid one. */
#include "gpt2/formats/hf.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "gpt2/formats/safetensors.h"
#include "gpt2/tests/scratch.h"

static void make_model(void) {
    scratch_make();
    struct gpt2_source source = seeded_source(&small_config);
    cr_assert(gpt2_hf_write(at("hf"), &source, GPT2_F32, -1, &error), "%s", error.text);
}

TestSuite(hf, .init = make_model, .fini = scratch_remove, .timeout = 60);

static bool opens(void) {
    struct gpt2_weights weights;
    bool ok = gpt2_hf_open(&weights, at("hf"), &error);
    if (ok) { check_seeded(&weights); }
    gpt2_weights_close(&weights);
    return ok;
}

/* Write the model again: each tensor renamed, cut or kept by `change`, then `extra` ones. change() returns false to leave one
 * out and may edit its entry; the bytes stay the model's. */
static void rewrite(bool (*change)(struct safetensors_tensor *, char *name), const struct safetensors_tensor *extra) {
    struct safetensors old;
    struct gpt2_output output;
    struct safetensors_tensor tensors[80];
    static char names[80][80];
    int count = 0;
    cr_assert(safetensors_open(&old, at("hf/model.safetensors"), &error), "%s", error.text);
    for (int i = 0; i < old.count; i++) {
        tensors[count] = old.tensors[i];
        strcpy(names[count], old.tensors[i].name);
        if (change && !change(&tensors[count], names[count])) { continue; }
        tensors[count].name = names[count];
        count++;
    }
    for (; extra && extra->name; extra++) { tensors[count++] = *extra; }
    cr_assert(safetensors_begin(&output, at("hf/model.safetensors"), tensors, count, NULL, &error), "%s", error.text);
    for (int i = 0; i < count; i++) {
        cr_assert(gpt2_output_write(&output, tensors[i].bytes, tensors[i].end - tensors[i].begin, &error));
    }
    cr_assert(gpt2_output_commit(&output, &error), "%s", error.text);
    safetensors_close(&old);
}

static bool without_prefix(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    memmove(name, name + strlen("transformer."), strlen(name) + 1 - strlen("transformer."));
    return true;
}

Test(hf, is_read_with_and_without_prefix) {
    cr_assert(opens(), "%s", error.text);
    rewrite(without_prefix, NULL);
    cr_assert(opens(), "%s", error.text);
}

/* The mask of old versions is skipped, in any type; the bias of c_attn is not. */
Test(hf, masks_are_skipped) {
    static const uint8_t mask[36];
    static const struct safetensors_tensor masks[] = {
        {.name = "transformer.h.0.attn.bias", .type = "BOOL", .dimensions = 4, .shape = {1, 1, 6, 6}, .bytes = mask},
        {.name = "h.1.attn.bias", .type = "U8", .dimensions = 4, .shape = {1, 1, 6, 6}, .bytes = mask},
        {.name = "h.2.attn.masked_bias", .type = "F32", .dimensions = 0, .bytes = mask},
        {0}};
    rewrite(NULL, masks);
    cr_assert(opens(), "%s", error.text);
}

static float head[300 * 8];

static void add_head(const char *type) {
    struct safetensors_tensor extra[] = {
        {.name = "lm_head.weight", .type = type, .dimensions = 2, .shape = {300, 8}, .bytes = head}, {0}};
    rewrite(NULL, extra);
}

Test(hf, a_tied_head_may_be_there) {
    for (int i = 0; i < 300 * 8; i++) { head[i] = seeded(GPT2_WTE, 0, i); }
    add_head("F32");
    cr_assert(opens(), "%s", error.text);
}

Test(hf, a_head_that_is_not_tied_is_refused) {
    for (int i = 0; i < 300 * 8; i++) { head[i] = seeded(GPT2_WTE, 0, i); }
    head[2399] += 1;
    add_head("F32");
    cr_assert(fails_with(opens(), "lm_head.weight differs from wte.weight"), "%s", error.text);
}

static bool shrink_wte(struct safetensors_tensor *tensor, char *name) {
    if (strstr(name, "wte")) { tensor->shape[0] = 299; }
    return true;
}
static bool turn_c_fc(struct safetensors_tensor *tensor, char *name) { /* as in torch.nn.Linear */
    if (strstr(name, "h.1.mlp.c_fc.weight")) { tensor->shape[0] = 32, tensor->shape[1] = 8; }
    return true;
}
static bool flatten_wpe(struct safetensors_tensor *tensor, char *name) {
    if (strstr(name, "wpe")) { tensor->dimensions = 1, tensor->shape[0] = 48; }
    return true;
}
static bool drop_ln_f(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    return !strstr(name, "ln_f.bias");
}
static bool drop_layer(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    return !strstr(name, "h.2.");
}
static bool as_i32(struct safetensors_tensor *tensor, char *name) {
    if (strstr(name, "h.0.ln_1.bias")) { tensor->type = "I32"; }
    return true;
}
static bool rename_one(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    if (strstr(name, "h.0.ln_1.bias")) { strcpy(name, "h.0.ln_1.beta"); }
    return true;
}
static bool renumber(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    if (strstr(name, "h.2.ln_1.bias")) { strcpy(name, "h.3.ln_1.bias"); }
    return true;
}
static bool repeat(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    if (strstr(name, "h.2.ln_1.bias")) { strcpy(name, "h.2.ln_1.weight"); }
    return true;
}

static const struct {
    bool (*change)(struct safetensors_tensor *, char *);
    const char *reason;
} changes[] = {
    {shrink_wte, "transformer.wte.weight is (299, 8); by config.json it has to be (300, 8)"},
    {turn_c_fc, "h.1.mlp.c_fc.weight is (32, 8); by config.json it has to be (8, 32)"},
    {flatten_wpe, "wpe.weight is (48); by config.json it has to be (6, 8)"},
    {drop_ln_f, "ln_f.bias is missing"},
    {drop_layer, "h.2.ln_1.weight and 11 more tensors are missing"},
    {as_i32, "h.0.ln_1.bias is of type I32"},
    {rename_one, "h.0.ln_1.beta is not a tensor of a GPT-2"},
    {renumber, "h.3.ln_1.bias: config.json has 3 layers only"},
    {repeat, "h.2.ln_1.weight is there twice"},
};

ParameterizedTestParameters(hf, models_refused) {
    static int indices[sizeof changes / sizeof changes[0]];
    for (int i = 0; i < (int)(sizeof changes / sizeof changes[0]); i++) { indices[i] = i; }
    return cr_make_param_array(int, indices, sizeof changes / sizeof changes[0]);
}

ParameterizedTest(int *index, hf, models_refused) {
    rewrite(changes[*index].change, NULL);
    cr_assert(fails_with(opens(), changes[*index].reason), "%s", error.text);
    cr_assert(strstr(error.text, "/hf/model.safetensors: "), "%s", error.text);
}

Test(hf, what_is_truncated_is_refused) {
    size_t size;
    uint8_t *bytes = get("hf/model.safetensors", &size);
    for (size_t end = 0; end < size; end += 1 + end / 3) {
        put("hf/model.safetensors", bytes, end);
        cr_assert_not(opens());
    }
    free(bytes);
}

#define SIZES "\"n_layer\":3,\"n_head\":2,\"n_embd\":8,\"vocab_size\":300"
#define ALL   SIZES ",\"n_positions\":6"

struct config_case {
    char text[260], reason[60]; /* reason: "" for a valid config */
};

ParameterizedTestParameters(hf, configs) {
    static struct config_case cases[] = {
        {"{" ALL "}", ""},
        {"{" SIZES ",\"n_ctx\":6}", ""},
        {"{" ALL ",\"activation_function\":\"gelu_new\",\"model_type\":\"gpt2\",\"n_inner\":null,\"unknown\":[1]}", ""},
        {"{" ALL ",\"n_inner\":32,\"layer_norm_epsilon\":1e-5,\"scale_attn_weights\":true}", ""},
        {"{" SIZES "}", "n_positions is missing"},
        {"{\"n_layer\":3}", "n_head is missing"},
        {"{" ALL ",", "invalid JSON"},
        {"[3]", "not an object"},
        {"{\"n_layer\":\"3\"}", "n_layer is not a whole number"},
        {"{\"n_layer\":3.5}", "n_layer is not a whole number"},
        {"{\"n_layer\":4294967296}", "n_layer is not a whole number"},
        {"{\"n_layer\":2147483647,\"n_head\":2,\"n_embd\":8,\"vocab_size\":300,\"n_positions\":6}",
         "number of layers is"},
        {"{\"n_layer\":0,\"n_head\":2,\"n_embd\":8,\"vocab_size\":300,\"n_positions\":6}", "number of layers is 0"},
        {"{\"n_layer\":3,\"n_head\":3,\"n_embd\":8,\"vocab_size\":300,\"n_positions\":6}", "among 3 heads"},
        {"{\"n_layer\":3,\"n_head\":2,\"n_embd\":8,\"vocab_size\":2147483647,\"n_positions\":6}", "vocabulary size"},
        {"{" ALL ",\"activation_function\":\"gelu_fast\",\"reorder_and_upcast_attn\":true}", ""},
        {"{" ALL ",\"num_attention_heads\":2,\"n_head\":4}", "the key \"n_head\" is there twice"},
        {"{\"n_layer\":9,\"num_hidden_layers\":3,\"n_head\":8,\"num_attention_heads\":2,\"hidden_size\":8,\"vocab_"
         "size\":300,"
         "\"max_position_embeddings\":6,\"n_ctx\":7}",
         ""},
        {"{" ALL ",\"activation_function\":\"silu\"}", "activation_function is silu"},
        {"{" ALL ",\"activation_function\":7}", "activation_function is no text"},
        {"{" ALL ",\"model_type\":\"gpt_neox\"}", "model_type is gpt_neox"},
        {"{" ALL ",\"scale_attn_by_inverse_layer_idx\":1}", "is neither true nor false"},
        {"{" ALL ",\"tie_word_embeddings\":\"no\"}", "is neither true nor false"},
        {"{" ALL ",\"scale_attn_weights\":false}", "scale_attn_weights is not true"},
        {"{" ALL ",\"eos_token_id\":7}", ""},
        {"{" ALL ",\"eos_token_id\":\"end\"}", "eos_token_id is neither"},
        {"{" ALL ",\"eos_token_id\":[1,[2]]}", "eos_token_id is neither"},
        {"{" ALL ",\"eos_token_id\":1.5}", "eos_token_id is neither"},
        {"{" ALL ",\"n_inner\":64}", "n_inner"},
        {"{" ALL ",\"layer_norm_epsilon\":\"small\"}", "layer_norm_epsilon is not a number"},
        {"{" ALL ",\"layer_norm_epsilon\":1e999}", "epsilon"},
    };
    return cr_make_param_array(struct config_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct config_case *one, hf, configs) {
    put_text("hf/config.json", one->text);
    bool ok = opens();
    if (one->reason[0] == '\0') {
        cr_assert(ok, "%s: %s", one->text, error.text);
    } else {
        cr_assert(!ok && strstr(error.text, one->reason) && strstr(error.text, "/hf/config.json: "), "%s: %s",
                  one->text, error.text);
    }
}

Test(hf, a_config_is_written_as_people_write_it) {
    size_t size;
    char *text = (char *)get("hf/config.json", &size);
    cr_assert(strstr(text, "\"layer_norm_epsilon\": 1e-05,") && strstr(text, "\"model_type\": \"gpt2\""), "%s", text);
    free(text);
}

Test(hf, missing_files_are_named) {
    remove(at("hf/model.safetensors"));
    cr_assert(fails_with(opens(), "hf/model.safetensors: No such file"));
    put_text("hf/pytorch_model.bin", "");
    cr_assert(
        fails_with(opens(), "from transformers import AutoModelForCausalLM; AutoModelForCausalLM.from_pretrained"),
        "%s", error.text);
    remove(at("hf/pytorch_model.bin"));
    put_text("hf/tf_model.h5", "");
    cr_assert(fails_with(opens(), "tf_model.h5, which is not supported"), "%s", error.text);
    remove(at("hf/config.json"));
    cr_assert(fails_with(opens(), "hf/config.json: No such file"));
    cr_assert(gpt2_file_write(at("x.safetensors"), "", 0, &error));
    struct gpt2_weights weights;
    cr_assert(fails_with(gpt2_hf_open(&weights, at("x.safetensors"), &error), "/config.json: No such file"));
}

/* ---- GPT-2's relatives ---- */

static struct gpt2_config read_config(const char *text) {
    struct gpt2_config config;
    put_text("c.json", text);
    cr_assert(gpt2_hf_config(&config, at("c.json"), &error), "%s: %s", text, error.text);
    return config;
}

Test(hf, settings_are_read) {
    static const struct {
        const char *name;
        enum gpt2_activation activation;
    } names[] = {{"gelu_new", GPT2_GELU_TANH},         {"gelu_pytorch_tanh", GPT2_GELU_TANH},
                 {"gelu_python_tanh", GPT2_GELU_TANH}, {"gelu_fast", GPT2_GELU_TANH},
                 {"gelu_accurate", GPT2_GELU_TANH},    {"gelu", GPT2_GELU_ERF},
                 {"gelu_python", GPT2_GELU_ERF},       {"relu", GPT2_RELU}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[300];
        snprintf(text, sizeof text, "{" ALL ",\"activation_function\":\"%s\"}", names[i].name);
        cr_assert_eq(read_config(text).activation, names[i].activation, "%s", names[i].name);
    }
    struct gpt2_config plain = read_config("{" ALL "}"), other;
    cr_assert(!plain.untied && !plain.scale_by_layer && !plain.stops.given && gpt2_config_differs(&plain) == NULL);
    other = read_config("{" ALL ",\"tie_word_embeddings\":false,\"scale_attn_by_inverse_layer_idx\":true}");
    cr_assert(other.untied && other.scale_by_layer && !gpt2_config_same(&plain, &other));
    other = read_config("{" ALL ",\"eos_token_id\":[7,-1,7]}");
    cr_assert(other.stops.given && other.stops.count == 3 && other.stops.ids[0] == 7 && other.stops.ids[1] == -1);
    other = read_config("{" ALL ",\"eos_token_id\":null}");
    cr_assert(!other.stops.given);
}

Test(hf, relatives_come_back) {
    struct gpt2_config config = small_config;
    config.untied = config.scale_by_layer = true, config.activation = GPT2_RELU;
    config.stops = (struct gpt2_stops){.given = true, .count = 2, .ids = {5, 299}};
    struct gpt2_source source = seeded_source(&config);
    struct gpt2_weights weights;
    cr_assert(gpt2_hf_write(at("hf"), &source, GPT2_F32, 3, &error), "%s", error.text);
    cr_assert(gpt2_hf_open(&weights, at("hf"), &error), "%s", error.text);
    check_seeded(&weights);
    cr_assert(gpt2_config_same(&weights.config, &config));
    cr_assert(weights.config.stops.count == 2 && weights.config.stops.ids[1] == 299);
    gpt2_weights_close(&weights);
    put_text("hf/generation_config.json", "{\"eos_token_id\": 4}");
    cr_assert(gpt2_hf_open(&weights, at("hf"), &error), "%s", error.text);
    cr_assert(weights.config.stops.count == 1 && weights.config.stops.ids[0] == 4);
    gpt2_weights_close(&weights);
    put_text("hf/generation_config.json", "{\"eos_token_id\": \"4\"}");
    cr_assert(fails_with(gpt2_hf_open(&weights, at("hf"), &error), "generation_config.json: eos_token_id"));
}

Test(hf, an_untied_head_has_to_be_there) {
    struct gpt2_weights weights;
    put_text("hf/config.json", "{" ALL ",\"tie_word_embeddings\":false}");
    cr_assert(fails_with(gpt2_hf_open(&weights, at("hf"), &error), "lm_head.weight is missing"), "%s", error.text);
    for (int i = 0; i < 300 * 8; i++) { head[i] = seeded(GPT2_HEAD, 0, i); }
    add_head("F32");
    cr_assert(opens(), "%s", error.text);
}

/* ---- weights in several files ---- */

static bool odd_tensor; /* which half of the tensors stays */
static bool half(struct safetensors_tensor *tensor, char *name) {
    (void)tensor;
    return (mix((uint64_t)strlen(name)) % 2 == 1) == odd_tensor;
}

/* Two files of half of the tensors each, and their index. extra: more of its entries. */
static void write_parts(const char *extra) {
    struct safetensors part;
    char index[8192] = "{\"metadata\":{\"total_size\":1},\"weight_map\":{";
    size_t size, length = strlen(index);
    uint8_t *whole = get("hf/model.safetensors", &size);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "part-2.safetensors" : "part-1.safetensors";
        char path[64];
        snprintf(path, sizeof path, "hf/%s", name);
        odd_tensor = i;
        put("hf/model.safetensors", whole, size);
        rewrite(half, NULL);
        cr_assert_eq(rename(at("hf/model.safetensors"), at(path)), 0);
        cr_assert(safetensors_open(&part, at(path), &error), "%s", error.text);
        cr_assert(part.count > 5);
        for (int t = 0; t < part.count; t++) {
            length +=
                (size_t)snprintf(index + length, sizeof index - length, "\"%s\":\"%s\",", part.tensors[t].name, name);
        }
        safetensors_close(&part);
    }
    snprintf(index + length - 1, sizeof index - length, "%s}}", extra);
    put_text("hf/model.safetensors.index.json", index);
    free(whole);
}

Test(hf, weights_may_be_in_several_files) {
    write_parts("");
    cr_assert(opens(), "%s", error.text);
}

Test(hf, what_is_not_finite_is_named_with_its_part) {
    struct gpt2_weights weights;
    write_parts("");
    FILE *file = fopen(at("hf/part-2.safetensors"), "r+b");
    cr_assert(file && fseek(file, -4, SEEK_END) == 0);
    fwrite("\0\0\x80\x7f", 1, 4, file); /* infinity */
    fclose(file);
    cr_assert(gpt2_hf_open(&weights, at("hf"), &error), "%s", error.text);
    cr_assert(fails_with(gpt2_weights_finite(&weights, &error), "/hf/part-2.safetensors: "), "%s", error.text);
    gpt2_weights_close(&weights);
}

Test(hf, an_index_has_to_agree_with_its_files) {
    static const char *const cases[][2] = {
        {",\"h.9.none\":\"part-1.safetensors\"", "it names 41 tensors; its files have 40"},
        {",\"none\":\"part-3.safetensors\"", "part-3.safetensors: No such file"},
        {",\"none\":\"../part-1.safetensors\"", "the file of none is not one beside the index"},
        {",\"none\":\"..\"", "the file of none is not one beside the index"},
        {",\"none\":7", "the file of none is not one beside the index"},
        {",\"transformer.wte.weight\":\"part-1.safetensors\"", "is there twice"},
    };
    write_parts("");
    size_t size;
    char *index = (char *)get("hf/model.safetensors.index.json", &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[9000];
        snprintf(text, sizeof text, "%.*s%s}}", (int)size - 2, index, cases[i][0]);
        put_text("hf/model.safetensors.index.json", text);
        cr_assert(fails_with(opens(), cases[i][1]), "%s: %s", cases[i][0], error.text);
    }
    put_text("hf/model.safetensors.index.json", "{\"weight_map\":{}}");
    cr_assert(fails_with(opens(), "index.json: no weight_map"), "%s", error.text);
    /* a tensor in the other file than the index says */
    char *first = strstr(index, "part-1");
    memcpy(first, "part-2", 6);
    put_text("hf/model.safetensors.index.json", index);
    cr_assert(fails_with(opens(), "part-1.safetensors: ") && strstr(error.text, "the index names part-2"), "%s",
              error.text);
    free(index);
}

/* The real sizes, as sparse files with a written header. */
Test(hf, the_real_sizes_open) {
    static const char *const names[] = {"124M", "355M", "774M", "1558M"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct safetensors_tensor tensors[600];
        static char text[600][GPT2_NAME_BYTES];
        const struct gpt2_config *config = gpt2_config_named(names[i]);
        int count = 0;
        for (int t = 0; t < GPT2_TENSORS; t++) {
            enum gpt2_tensor tensor = (enum gpt2_tensor)t;
            for (int layer = 0; layer < gpt2_tensor_layers(config, tensor); layer++) {
                int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
                bool linear = gpt2_tensor_is_linear(tensor);
                gpt2_tensor_name(tensor, layer, text[count]);
                tensors[count] =
                    (struct safetensors_tensor){.name = text[count],
                                                .type = "F32",
                                                .dimensions = gpt2_tensor_dimensions(tensor),
                                                .shape = {linear ? columns : rows, linear ? rows : columns}};
                count++;
            }
        }
        struct gpt2_output output;
        cr_assert(safetensors_begin(&output, at("hf/model.safetensors"), tensors, count, NULL, &error));
        cr_assert(gpt2_output_commit(&output, &error));
        struct stat status;
        stat(at("hf/model.safetensors"), &status);
        cr_assert_eq(truncate(at("hf/model.safetensors"), status.st_size + (off_t)tensors[count - 1].end), 0);
        char json[200];
        snprintf(json, sizeof json,
                 "{\"n_layer\":%d,\"n_head\":%d,\"n_embd\":%d,\"vocab_size\":50257,\"n_positions\":1024}",
                 config->layers, config->heads, config->channels);
        put_text("hf/config.json", json);
        struct gpt2_weights weights;
        cr_assert(gpt2_hf_open(&weights, at("hf"), &error), "%s", error.text);
        cr_assert(gpt2_config_same(&weights.config, config) && weights.config.padded_vocabulary == 50304);
        gpt2_weights_close(&weights);
    }
}

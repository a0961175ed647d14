/* hf_folder.c — the tokenizer of a folder of Hugging Face's, as AutoTokenizer of transformers 5.17 makes it from the same
 * files.
 *
 * docs/tokenizer-files.md has the precedence of the files as a table. In short: GPT2Tokenizer is built anew from a vocabulary
 * and merges, those of tokenizer.json before vocab.json and merges.txt. Of tokenizer.json it keeps the added tokens and the
 * post-processor alone. Another tokenizer_class takes tokenizer.json as it is. tokenizer_config.json adds tokens, and without
 * its added_tokens_decoder special_tokens_map.json and added_tokens.json do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/tokenizer/hf.h"

enum { MOST_BYTES = 1 << 25 };

const char hf_settings_name[] = "tokenizer_config.json", hf_added_name[] = "added_tokens.json";
const char hf_json_name[] = "tokenizer.json";
static const char map_name[] = "special_tokens_map.json";

bool hf_refuse(const struct hf_folder *folder, const char *file, struct gpt2_error *error, const char *what,
               const char *text) {
    return gpt2_fail(error, "%s/%s: %s%s%.60s%s", folder->path, file, what, text ? " \"" : "", text ? text : "",
                     text ? "\"" : "");
}

/* ---- what cannot be honoured ---- */

static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_true(const cJSON *object, const char *key) {
    return cJSON_IsTrue(hf_get(object, key));
}

static bool is_text(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(hf_get(object, key));
    return text && text[0] != '\0';
}

/* Does a post-processor add tokens? None does, ByteLevel does not, a template of the text alone does not. */
static bool adds_tokens(const cJSON *processor) {
    const char *type = cJSON_GetStringValue(hf_get(processor, "type"));
    const cJSON *item;
    if (!processor || cJSON_IsNull(processor) || (type && strcmp(type, "ByteLevel") == 0)) { return false; }
    if (type && strcmp(type, "Sequence") == 0) {
        cJSON_ArrayForEach(item, hf_get(processor, "processors")) {
            if (adds_tokens(item)) { return true; }
        }
        return false;
    }
    const cJSON *single = hf_get(processor, "single");
    return !type || strcmp(type, "TemplateProcessing") != 0 || cJSON_GetArraySize(single) != 1 ||
           hf_get(single->child, "SpecialToken");
}

/* What transformers takes from tokenizer.json as it is. */
static bool check_json(const struct hf_folder *folder, struct gpt2_error *error) {
    const cJSON *cut = hf_get(folder->json, "pre_tokenizer"), *normalizer = hf_get(folder->json, "normalizer");
    const cJSON *model = hf_get(folder->json, "model"), *dropout = hf_get(model, "dropout");
    const char *type = cJSON_GetStringValue(hf_get(cut, "type"));
    static const char *const flags[] = {"ignore_merges", "byte_fallback"};
    static const char *const texts[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    if (normalizer && !cJSON_IsNull(normalizer)) {
        const char *name = cJSON_GetStringValue(hf_get(normalizer, "type"));
        return hf_refuse(folder, hf_json_name, error, "its normalizer is not supported:", name ? name : "?");
    }
    if (!type || strcmp(type, "ByteLevel") != 0) {
        return hf_refuse(folder, hf_json_name, error, "its pre_tokenizer is not ByteLevel alone, as that of GPT-2, but",
                         type ? type : "none");
    }
    if (cJSON_IsFalse(hf_get(cut, "use_regex"))) {
        return hf_refuse(folder, hf_json_name, error,
                         "its pre_tokenizer has use_regex false: it does not split as GPT-2's", NULL);
    }
    if (!cJSON_IsBool(hf_get(cut, "add_prefix_space"))) {
        return hf_refuse(folder, hf_json_name, error, "its pre_tokenizer has no add_prefix_space", NULL);
    }
    if (dropout && !cJSON_IsNull(dropout) && !(cJSON_IsNumber(dropout) && dropout->valuedouble == 0.0)) {
        return hf_refuse(folder, hf_json_name, error, "its model has a dropout: the tokens would be random", NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_true(model, flags[i]) || is_text(model, texts[i])) {
            return hf_refuse(folder, hf_json_name, error, "its model merges in another way than GPT-2's, by",
                             is_true(model, flags[i]) ? flags[i] : texts[i]);
        }
    }
    return true;
}

static bool check_settings(const struct hf_folder *folder, const cJSON *settings, struct gpt2_error *error) {
    static const char *const flags[] = {"split_special_tokens", "add_bos_token", "add_eos_token"};
    static const char *const others[] = {"auto_map", "fast_tokenizer_files", "init_inputs", "vocab", "merges"};
    const cJSON *prefix = hf_get(settings, "add_prefix_space");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const cJSON *flag = hf_get(settings, flags[i]);
        bool overruled = i > 0 && folder->json; /* by its post-processor */
        if (!overruled && flag && !cJSON_IsNull(flag) && !cJSON_IsFalse(flag)) {
            return hf_refuse(folder, hf_settings_name, error, "not supported unless it is false:", flags[i]);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const cJSON *item = hf_get(settings, others[i]);
        bool is_empty = !item || cJSON_IsNull(item) || (!cJSON_IsString(item) && !item->child);
        if (!is_empty) { return hf_refuse(folder, hf_settings_name, error, "not supported:", others[i]); }
    }
    if (prefix && !cJSON_IsBool(prefix)) {
        return hf_refuse(folder, hf_settings_name, error, "neither true nor false: add_prefix_space", NULL);
    }
    return true;
}

/* ---- the class of the tokenizer ---- */

/* Is it transformers' GPT2Tokenizer, or GPT2TokenizerFast? */
static bool is_gpt2(const char *class) {
    return strcmp(class, "GPT2Tokenizer") == 0 || strcmp(class, "GPT2TokenizerFast") == 0;
}

/* Sets takes_json. */
static bool choose_class(struct hf_folder *folder, bool has_vocabulary, struct gpt2_error *error) {
    static const char *const generic[] = {"PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer",
                                          "PythonBackend"};
    const char *class = cJSON_GetStringValue(hf_get(folder->settings, "tokenizer_class"));
    const char *model = cJSON_GetStringValue(hf_get(folder->config, "model_type"));
    const char *file = class ? hf_settings_name : "config.json";
    bool is_generic = false;
    if (!class) { class = cJSON_GetStringValue(hf_get(folder->config, "tokenizer_class")); }
    if (!class) { /* GPT2Tokenizer by the model; nothing says so where tokenizer.json is alone */
        folder->takes_json = folder->json && (model ? strcmp(model, "gpt2") != 0 : !has_vocabulary);
        return true;
    }
    if (is_gpt2(class)) { return true; }
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++) { is_generic |= strcmp(class, generic[i]) == 0; }
    if (folder->json && is_generic) { return folder->takes_json = true; }
    return hf_refuse(folder, file, error,
                     is_generic ? "without tokenizer.json this tokenizer_class is not supported:"
                                : "this tokenizer_class is not supported:",
                     class);
}

/* ---- reading the folder ---- */

/* Only special tokens. */
static bool check_map(const struct hf_folder *folder, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, folder->map) {
        bool is_list =
            strcmp(item->string, "additional_special_tokens") == 0 || strcmp(item->string, "extra_special_tokens") == 0;
        if (!is_list && (!hf_ends_with(item->string, "_token") || cJSON_IsBool(item))) {
            return hf_refuse(folder, map_name, error, "it is no special token:", item->string);
        }
    }
    return true;
}

/* The padding of a tokenizer.json names a special token. */
static bool take_padding(const struct hf_folder *folder, cJSON *settings, struct gpt2_error *error) {
    const cJSON *pad = hf_get(hf_get(folder->json, "padding"), "pad_token");
    return !cJSON_IsString(pad) || hf_get(settings, "pad_token") ||
           hf_put(settings, "pad_token", cJSON_Duplicate(pad, true)) ||
           gpt2_fail(error, "%s: out of memory", folder->path);
}

/* NULL in *root: no such file. */
static bool read_optional(const char *folder, const char *name, cJSON **root, struct gpt2_error *error) {
    char *path = gpt2_path(folder, name);
    if (!path) { return gpt2_fail(error, "%s: out of memory", folder); }
    bool there = is_there(path);
    *root = there ? gpt2_json_read(path, MOST_BYTES, error) : NULL;
    free(path);
    return !there || *root;
}

static bool read_vocabulary(struct hf_folder *folder, struct gpt2_error *error) {
    struct gpt2_tokenizer *tokenizer = folder->tokenizer;
    bool from_json = folder->json != NULL;
    char *merges = gpt2_path(folder->path, "merges.txt");
    char *path = gpt2_path(folder->path, from_json ? hf_json_name : "vocab.json");
    bool ok = (path && merges) || gpt2_fail(error, "%s: out of memory", folder->path);
    if (ok) {
        free(tokenizer->path);
        tokenizer->path = path, path = NULL; /* for messages: the file, not the folder */
        ok = from_json ? tokenizer_read_model(tokenizer, hf_get(folder->json, "model"), error)
                       : tokenizer_read_vocabulary(tokenizer, merges, error);
    }
    free(merges);
    free(path);
    return ok;
}

static bool build(struct hf_folder *folder, cJSON *settings, struct gpt2_error *error) {
    struct hf_mentions in_file = {NULL, 0, 0}; /* of a tokenizer.json that is taken as it is */
    const cJSON *cut = folder->takes_json ? hf_get(folder->json, "pre_tokenizer") : settings;
    bool ok = check_settings(folder, settings, error) && check_map(folder, error) &&
              (hf_collect_settings(settings) || gpt2_fail(error, "%s: out of memory", folder->path));
    if (ok && folder->takes_json) { ok = check_json(folder, error) && take_padding(folder, settings, error); }
    if (ok && adds_tokens(hf_get(folder->json, "post_processor"))) {
        ok = hf_refuse(folder, hf_json_name, error, "its post_processor adds tokens to a text, unlike that of GPT-2",
                       NULL);
    }
    ok = ok && hf_collect_decoder(folder, settings, error) &&
         (!folder->takes_json || hf_read_json_added(folder, &in_file, error)) &&
         hf_collect_wanted(folder, settings, &in_file, error) && read_vocabulary(folder, error) &&
         hf_add_all(folder, &in_file, error) && hf_add_all(folder, &folder->wanted, error) &&
         tokenizer_finish_added(folder->tokenizer, error);
    folder->tokenizer->prefix_space = is_true(cut, "add_prefix_space");
    const struct hf_mention *end = hf_find(&folder->wanted, END_OF_TEXT);
    if (ok && end && end->by_default && folder->tokenizer->end_of_text >= folder->tokenizer->learned) {
        folder->tokenizer->end_of_text = -1; /* in no file: no model has learned it */
    }
    free(in_file.list);
    return ok;
}

bool tokenizer_read_folder(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    struct hf_folder folder = {.path = path, .tokenizer = tokenizer};
    char *vocabulary = gpt2_path(path, "vocab.json");
    cJSON *settings = NULL;
    bool ok = vocabulary || gpt2_fail(error, "%s: out of memory", path);
    ok =
        ok && read_optional(path, hf_settings_name, &folder.settings, error) &&
        read_optional(path, map_name, &folder.map, error) && read_optional(path, hf_added_name, &folder.added, error) &&
        read_optional(path, hf_json_name, &folder.json, error) &&
        read_optional(path, "config.json", &folder.config, error) && choose_class(&folder, is_there(vocabulary), error);
    if (ok) {
        settings = folder.settings ? cJSON_Duplicate(folder.settings, true) : cJSON_CreateObject();
        ok = settings || gpt2_fail(error, "%s: out of memory", path);
    }
    ok = ok && build(&folder, settings, error);
    cJSON *roots[] = {settings, folder.config, folder.settings, folder.map, folder.added, folder.json};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) { cJSON_Delete(roots[i]); }
    free(folder.decoder.list);
    free(folder.known.list);
    free(folder.wanted.list);
    free(vocabulary);
    return ok;
}

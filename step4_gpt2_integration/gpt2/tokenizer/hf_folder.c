/* hf_folder.c — the tokenizer of a folder of Hugging Face's, as AutoTokenizer of transformers 5.17 makes it from the same files.
 *
 * docs/tokenizer-files.md has the precedence of the files as a table. In short: GPT2Tokenizer is built anew from a vocabulary and merges,
 * those of tokenizer.json before vocab.json and merges.txt. Of tokenizer.json it keeps the added tokens and the post-processor alone.
 * Another tokenizer_class takes tokenizer.json as it is. tokenizer_config.json adds tokens, and without its added_tokens_decoder
 * special_tokens_map.json and added_tokens.json do.
 *
 * transformers collects its settings in a dictionary, in the order of the files; so does this file, in a cJSON object.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpt2/formats/json.h"
#include "gpt2/tokenizer/internal.h"

enum { MOST_BYTES = 1 << 25, MOST_ADDED = 1 << 16 };

static const char settings_name[] = "tokenizer_config.json", map_name[] = "special_tokens_map.json";
static const char added_name[] = "added_tokens.json", json_name[] = "tokenizer.json";

/* The special tokens that every tokenizer of transformers may have, in its order. */
static const char *const roles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};
enum { ROLES = sizeof roles / sizeof *roles };

/* A token as a file gives it. */
struct mention {
    const char *text;
    bool is_string;  /* without flags */
    bool by_default; /* no file names it */
    bool special, lstrip, rstrip;
    int normalized; /* -1: not given, so that of a token that is not special */
    int64_t id;     /* of added_tokens_decoder: only the order counts */
};

struct mentions {
    struct mention *list;
    int count, room;
};

struct folder {
    const char *path;
    struct gpt2_tokenizer *tokenizer;
    cJSON *config, *settings, *map, *added, *json; /* the files; NULL: not there */
    bool takes_json;                               /* tokenizer.json as it is */
    struct mentions decoder, known, wanted; /* transformers' added_tokens_decoder, added_tokens_map, tokens_to_add */
};

/* ---- tokens of a file ---- */

static bool refuse(const struct folder *folder, const char *file, struct gpt2_error *error, const char *what,
                   const char *text) {
    return gpt2_fail(error, "%s/%s: %s%s%.60s%s", folder->path, file, what, text ? " \"" : "", text ? text : "",
                     text ? "\"" : "");
}

static bool read_flag(const cJSON *object, const char *key, bool *flag) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item) { return true; }
    *flag = cJSON_IsTrue(item);
    return cJSON_IsBool(item);
}

/* A text, or an object with the fields of AddedToken. */
static bool read_mention(const struct folder *folder, const char *file, const cJSON *item, struct mention *mention,
                         struct gpt2_error *error) {
    bool single_word = false, normalized = false;
    const cJSON *content = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "content") : item;
    *mention = (struct mention){.text = cJSON_GetStringValue(content), .is_string = cJSON_IsString(item)};
    if (!mention->text) { return refuse(folder, file, error, "a token without its text:", item ? item->string : NULL); }
    mention->normalized = -1;
    if (mention->is_string) { return true; }
    bool ok = read_flag(item, "special", &mention->special) && read_flag(item, "lstrip", &mention->lstrip) &&
              read_flag(item, "rstrip", &mention->rstrip) && read_flag(item, "single_word", &single_word) &&
              read_flag(item, "normalized", &normalized);
    if (!ok) {
        return refuse(folder, file, error, "a setting is neither true nor false of the added token", mention->text);
    }
    if (single_word) {
        return refuse(folder, file, error, "single_word, which is not supported, is true for the added token",
                      mention->text);
    }
    if (cJSON_HasObjectItem(item, "normalized")) { mention->normalized = normalized; }
    return true;
}

static bool append(const struct folder *folder, struct mentions *mentions, struct mention mention,
                   struct gpt2_error *error) {
    size_t room = (size_t)mentions->room;
    if (mentions->count == MOST_ADDED) {
        return gpt2_fail(error, "%s: more than %d added tokens", folder->path, (int)MOST_ADDED);
    }
    if (!grow(&mentions->list, &room, (size_t)mentions->count + 1, sizeof mention)) {
        return gpt2_fail(error, "%s: out of memory", folder->path);
    }
    mentions->room = (int)room;
    mentions->list[mentions->count++] = mention;
    return true;
}

/* The last one with this text; NULL: there is none. */
static const struct mention *find(const struct mentions *mentions, const char *text) {
    for (int i = mentions->count - 1; i >= 0; i--) {
        if (strcmp(mentions->list[i].text, text) == 0) { return &mentions->list[i]; }
    }
    return NULL;
}

/* Of two with the same id the second counts, but the first stays known by its text. */
static bool add_decoded(struct folder *folder, struct mention mention, int64_t id, struct gpt2_error *error) {
    mention.id = id;
    if (!append(folder, &folder->known, mention, error)) { return false; }
    for (int i = 0; i < folder->decoder.count; i++) {
        if (folder->decoder.list[i].id == id) { return folder->decoder.list[i] = mention, true; }
    }
    return append(folder, &folder->decoder, mention, error);
}

/* ---- the settings, as transformers' _from_pretrained collects them ---- */

static bool is_role(const char *key) {
    for (int i = 0; i < ROLES; i++) {
        if (strcmp(roles[i], key) == 0) { return true; }
    }
    return false;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static cJSON *get(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* object[key] = item, which it then owns: the place of an old item stays. */
static bool put(cJSON *object, const char *key, cJSON *item) {
    if (!item) { return false; }
    bool ok = get(object, key) ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, item)
                               : cJSON_AddItemToObject(object, key, item);
    if (!ok) { cJSON_Delete(item); }
    return ok;
}

/* All items of `from` into `into`. */
static bool update(cJSON *into, const cJSON *from) {
    const cJSON *item;
    cJSON_ArrayForEach(item, from) {
        if (!put(into, item->string, cJSON_Duplicate(item, true))) { return false; }
    }
    return true;
}

/* The special tokens with names of the model's own go to model_specific_special_tokens; additional_special_tokens is the old name of
 * extra_special_tokens. */
static bool collect_settings(cJSON *settings) {
    cJSON *old = cJSON_DetachItemFromObjectCaseSensitive(settings, "additional_special_tokens");
    if (old && get(settings, "extra_special_tokens")) {
        cJSON_Delete(old);
    } else if (old && !put(settings, "extra_special_tokens", old)) {
        return false;
    }
    cJSON *specific = cJSON_CreateObject(), *next;
    bool ok = specific != NULL;
    for (cJSON *item = settings->child; ok && item; item = next) {
        next = item->next;
        if (is_role(item->string) || !ends_with(item->string, "_token") || !cJSON_IsString(item)) { continue; }
        ok = put(specific, item->string, cJSON_Duplicate(item, true));
        cJSON_DeleteItemFromObjectCaseSensitive(settings, item->string);
    }
    if (ok && cJSON_IsObject(get(settings, "extra_special_tokens"))) {
        ok = update(specific, get(settings, "extra_special_tokens"));
        cJSON_DeleteItemFromObjectCaseSensitive(settings, "extra_special_tokens");
    }
    if (ok && specific->child) { return put(settings, "model_specific_special_tokens", specific); }
    cJSON_Delete(specific);
    return ok;
}

static const char from_map[] = "__from_map"; /* marks such an object */

/* An object of special_tokens_map.json is a special token. */
static bool make_special(cJSON *item) {
    return !cJSON_IsObject(item) ||
           (put(item, "special", cJSON_CreateTrue()) && put(item, from_map, cJSON_CreateTrue()) &&
            put(item, "__type", cJSON_CreateString("AddedToken")));
}

static bool merge_extra(cJSON *settings, const cJSON *list) {
    const cJSON *existing = get(settings, "extra_special_tokens"), *item;
    cJSON *all = cJSON_IsArray(existing) ? cJSON_Duplicate(existing, true) : cJSON_CreateArray();
    bool ok = all != NULL;
    cJSON_ArrayForEach(item, list) {
        cJSON *copy = ok ? cJSON_Duplicate(item, true) : NULL;
        ok = copy && make_special(copy) && cJSON_AddItemToArray(all, copy);
        if (!ok) {
            cJSON_Delete(copy);
            break;
        }
    }
    if (!ok) { cJSON_Delete(all); }
    return ok && put(settings, "extra_special_tokens", all);
}

static bool merge_map(cJSON *settings, const cJSON *map) {
    const cJSON *item;
    cJSON_ArrayForEach(item, map) {
        bool is_extra = strcmp(item->string, "extra_special_tokens") == 0;
        if (is_extra && cJSON_IsArray(item)) {
            if (!merge_extra(settings, item)) { return false; }
            continue;
        }
        cJSON *copy = cJSON_Duplicate(item, true);
        if (!copy || (!is_extra && !make_special(copy))) {
            cJSON_Delete(copy);
            return false;
        }
        if (!put(settings, item->string, copy)) { return false; }
    }
    const cJSON *extra = get(settings, "extra_special_tokens");
    if (!cJSON_IsObject(extra)) { return true; }
    cJSON *specific = get(settings, "model_specific_special_tokens");
    if (!specific) {
        specific = cJSON_CreateObject();
        if (!specific || !put(settings, "model_specific_special_tokens", specific)) { return false; }
    }
    bool ok = update(specific, extra);
    cJSON_DeleteItemFromObjectCaseSensitive(settings, "extra_special_tokens");
    return ok;
}

/* ---- added_tokens_decoder, and its older forms ---- */

static bool read_decoder(struct folder *folder, const cJSON *decoder, struct gpt2_error *error) {
    const cJSON *item;
    if (!cJSON_IsObject(decoder)) {
        return refuse(folder, settings_name, error, "added_tokens_decoder is no object", NULL);
    }
    cJSON_ArrayForEach(item, decoder) {
        struct mention mention;
        char *end;
        long long id = strtoll(item->string, &end, 10);
        if (end == item->string || *end != '\0' || id < 0) {
            return refuse(folder, settings_name, error, "added_tokens_decoder: not a token's number:", item->string);
        }
        if (!cJSON_IsObject(item)) {
            return refuse(folder, settings_name, error, "added_tokens_decoder: not an object: the token", item->string);
        }
        if (!read_mention(folder, settings_name, item, &mention, error) || !add_decoded(folder, mention, id, error)) {
            return false;
        }
    }
    return true;
}

/* Is it this text to transformers at this time? Objects of tokenizer_config.json are not read yet. */
static bool names(const cJSON *item, const char *text) {
    const char *name = cJSON_GetStringValue(get(item, from_map) ? get(item, "content") : item);
    return name && strcmp(name, text) == 0;
}

/* Is this text a special token by the settings so far? */
static bool is_special(const cJSON *settings, const char *text) {
    const cJSON *item;
    for (int i = 0; i < ROLES; i++) {
        if (names(get(settings, roles[i]), text)) { return true; }
    }
    cJSON_ArrayForEach(item, get(settings, "extra_special_tokens")) {
        if (names(item, text)) { return true; }
    }
    return false;
}

static bool read_added_file(struct folder *folder, const cJSON *settings, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, folder->added) {
        int64_t id;
        if (!gpt2_json_integer(item, &id)) {
            return refuse(folder, added_name, error, "no whole number is the id of", item->string);
        }
        bool special = is_special(settings, item->string);
        if (!add_decoded(folder, (struct mention){.text = item->string, .special = special, .normalized = !special}, id,
                         error)) {
            return false;
        }
    }
    return true;
}

/* The added tokens of tokenizer.json; append: to that list, else to the decoder. */
static bool read_json_added(struct folder *folder, struct mentions *list, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, get(folder->json, "added_tokens")) {
        struct mention mention;
        int64_t id;
        if (!cJSON_IsObject(item) || !gpt2_json_integer(get(item, "id"), &id)) {
            return refuse(folder, json_name, error, "an added token has no id", NULL);
        }
        if (!read_mention(folder, json_name, item, &mention, error)) { return false; }
        if (!(list ? append(folder, list, mention, error) : add_decoded(folder, mention, id, error))) { return false; }
    }
    return true;
}

static int by_id(const void *a, const void *b) {
    const struct mention *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool collect_decoder(struct folder *folder, cJSON *settings, struct gpt2_error *error) {
    const cJSON *decoder = get(settings, "added_tokens_decoder");
    bool ok;
    if (decoder) {
        ok = read_decoder(folder, decoder, error);
    } else {
        ok = merge_map(settings, folder->map) || gpt2_fail(error, "%s: out of memory", folder->path);
        ok = ok && read_added_file(folder, settings, error) && read_json_added(folder, NULL, error);
    }
    if (ok && folder->decoder.count > 0) {
        qsort(folder->decoder.list, (size_t)folder->decoder.count, sizeof *folder->decoder.list, by_id);
    }
    return ok;
}

/* ---- the tokens to add, as transformers' __init__ collects them ---- */

/* The value of a special token: a text or an AddedToken. */
static bool read_special(const struct folder *folder, const cJSON *item, struct mention *mention,
                         struct gpt2_error *error) {
    if (cJSON_IsString(item) || (cJSON_IsObject(item) && get(item, "__type"))) {
        return read_mention(folder, settings_name, item, mention, error);
    }
    return refuse(folder, settings_name, error, "neither a text nor an AddedToken:", item->string);
}

/* By role, then the model's own names. */
static bool collect_named(const struct folder *folder, const cJSON *settings, struct mentions *named,
                          struct gpt2_error *error) {
    const cJSON *own = get(settings, "model_specific_special_tokens"), *item;
    struct mention mention;
    for (int i = 0; i < ROLES; i++) {
        const cJSON *value = get(settings, roles[i]);
        /* GPT2Tokenizer's own defaults */
        bool by_default = !value && !folder->takes_json && i < 3;
        if (by_default) {
            mention = (struct mention){.text = END_OF_TEXT, .is_string = true, .by_default = true, .normalized = -1};
        } else if (!value || cJSON_IsNull(value)) {
            continue;
        } else if (!read_special(folder, value, &mention, error)) {
            return false;
        }
        const struct mention *known = by_default ? NULL : find(&folder->known, mention.text);
        if (!append(folder, named, known ? *known : mention, error)) { return false; }
    }
    if (own && !cJSON_IsObject(own)) { return refuse(folder, settings_name, error, "it is no object:", own->string); }
    cJSON *specific = cJSON_CreateObject();
    bool ok = specific != NULL;
    cJSON_ArrayForEach(item, settings) {
        bool is_own = ends_with(item->string, "_token") && !is_role(item->string) &&
                      (cJSON_IsString(item) || (cJSON_IsObject(item) && get(item, "__type")));
        if (is_own) { ok = ok && put(specific, item->string, cJSON_Duplicate(item, true)); }
    }
    ok = (ok && update(specific, own)) || gpt2_fail(error, "%s: out of memory", folder->path);
    /* The texts stay valid in `settings`. */
    const cJSON *copy;
    cJSON_ArrayForEach(copy, specific) {
        item = get(own, copy->string);
        if (!item) { item = get(settings, copy->string); }
        ok = ok && read_special(folder, item, &mention, error) && append(folder, named, mention, error);
    }
    cJSON_Delete(specific);
    return ok;
}

/* Adds those that are not added in another way. */
static bool want(struct folder *folder, const struct mentions *in_file, const struct mentions *named,
                 struct mention mention, struct gpt2_error *error) {
    if (mention.is_string) {
        mention.special = true;
    } else if (!mention.special && find(named, mention.text)) {
        mention.special = true;
    }
    if (find(in_file, mention.text) || find(&folder->decoder, mention.text)) { return true; }
    return append(folder, &folder->wanted, mention, error);
}

static bool collect_wanted(struct folder *folder, const cJSON *settings, const struct mentions *in_file,
                           struct gpt2_error *error) {
    struct mentions named = {NULL, 0, 0};
    const cJSON *extra = get(settings, "extra_special_tokens"), *item;
    bool ok = collect_named(folder, settings, &named, error);
    if (!extra) { extra = get(settings, "additional_special_tokens"); } /* from special_tokens_map.json */
    for (int i = 0; ok && i < folder->decoder.count; i++) {
        struct mention mention = folder->decoder.list[i];
        mention.special = mention.special || find(&named, mention.text);
        ok = append(folder, &folder->wanted, mention, error);
    }
    for (int i = 0; ok && i < named.count; i++) { ok = want(folder, in_file, &named, named.list[i], error); }
    if (ok && extra && !cJSON_IsNull(extra) && !cJSON_IsArray(extra)) {
        ok = refuse(folder, settings_name, error, "extra_special_tokens is no list", NULL);
    }
    cJSON_ArrayForEach(item, extra) {
        struct mention mention;
        ok = ok && read_special(folder, item, &mention, error) && want(folder, in_file, &named, mention, error);
    }
    free(named.list);
    return ok;
}

static bool add_all(struct folder *folder, const struct mentions *mentions, struct gpt2_error *error) {
    for (int i = 0; i < mentions->count; i++) {
        const struct mention *mention = &mentions->list[i];
        struct added_token flags = {.special = mention->special, .lstrip = mention->lstrip, .rstrip = mention->rstrip};
        flags.normalized = mention->normalized >= 0 ? mention->normalized : !mention->special;
        if (!tokenizer_add_added(folder->tokenizer, mention->text, flags, error)) { return false; }
    }
    return true;
}

/* ---- what cannot be honoured ---- */

static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_true(const cJSON *object, const char *key) {
    return cJSON_IsTrue(get(object, key));
}

static bool is_text(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(get(object, key));
    return text && text[0] != '\0';
}

/* Does a post-processor add tokens? None does, ByteLevel does not, a template of the text alone does not. */
static bool adds_tokens(const cJSON *processor) {
    const char *type = cJSON_GetStringValue(get(processor, "type"));
    const cJSON *item;
    if (!processor || cJSON_IsNull(processor) || (type && strcmp(type, "ByteLevel") == 0)) { return false; }
    if (type && strcmp(type, "Sequence") == 0) {
        cJSON_ArrayForEach(item, get(processor, "processors")) {
            if (adds_tokens(item)) { return true; }
        }
        return false;
    }
    const cJSON *single = get(processor, "single");
    return !type || strcmp(type, "TemplateProcessing") != 0 || cJSON_GetArraySize(single) != 1 ||
           get(single->child, "SpecialToken");
}

/* What transformers takes from tokenizer.json as it is. */
static bool check_json(const struct folder *folder, struct gpt2_error *error) {
    const cJSON *cut = get(folder->json, "pre_tokenizer"), *normalizer = get(folder->json, "normalizer");
    const cJSON *model = get(folder->json, "model"), *dropout = get(model, "dropout");
    const char *type = cJSON_GetStringValue(get(cut, "type"));
    static const char *const flags[] = {"ignore_merges", "byte_fallback"};
    static const char *const texts[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    if (normalizer && !cJSON_IsNull(normalizer)) {
        const char *name = cJSON_GetStringValue(get(normalizer, "type"));
        return refuse(folder, json_name, error, "its normalizer is not supported:", name ? name : "?");
    }
    if (!type || strcmp(type, "ByteLevel") != 0) {
        return refuse(folder, json_name, error, "its pre_tokenizer is not ByteLevel alone, as that of GPT-2, but",
                      type ? type : "none");
    }
    if (cJSON_IsFalse(get(cut, "use_regex"))) {
        return refuse(folder, json_name, error, "its pre_tokenizer has use_regex false: it does not split as GPT-2's",
                      NULL);
    }
    if (!cJSON_IsBool(get(cut, "add_prefix_space"))) {
        return refuse(folder, json_name, error, "its pre_tokenizer has no add_prefix_space", NULL);
    }
    if (dropout && !cJSON_IsNull(dropout) && !(cJSON_IsNumber(dropout) && dropout->valuedouble == 0.0)) {
        return refuse(folder, json_name, error, "its model has a dropout: the tokens would be random", NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_true(model, flags[i]) || is_text(model, texts[i])) {
            return refuse(folder, json_name, error, "its model merges in another way than GPT-2's, by",
                          is_true(model, flags[i]) ? flags[i] : texts[i]);
        }
    }
    return true;
}

static bool check_settings(const struct folder *folder, const cJSON *settings, struct gpt2_error *error) {
    static const char *const flags[] = {"split_special_tokens", "add_bos_token", "add_eos_token"};
    static const char *const others[] = {"auto_map", "fast_tokenizer_files", "init_inputs", "vocab", "merges"};
    const cJSON *prefix = get(settings, "add_prefix_space");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const cJSON *flag = get(settings, flags[i]);
        bool overruled = i > 0 && folder->json; /* by its post-processor */
        if (!overruled && flag && !cJSON_IsNull(flag) && !cJSON_IsFalse(flag)) {
            return refuse(folder, settings_name, error, "not supported unless it is false:", flags[i]);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const cJSON *item = get(settings, others[i]);
        bool is_empty = !item || cJSON_IsNull(item) || (!cJSON_IsString(item) && !item->child);
        if (!is_empty) { return refuse(folder, settings_name, error, "not supported:", others[i]); }
    }
    if (prefix && !cJSON_IsBool(prefix)) {
        return refuse(folder, settings_name, error, "neither true nor false: add_prefix_space", NULL);
    }
    return true;
}

/* ---- the class of the tokenizer ---- */

/* Is it transformers' GPT2Tokenizer, or GPT2TokenizerFast? */
static bool is_gpt2(const char *class) {
    return strcmp(class, "GPT2Tokenizer") == 0 || strcmp(class, "GPT2TokenizerFast") == 0;
}

/* Sets takes_json. */
static bool choose_class(struct folder *folder, bool has_vocabulary, struct gpt2_error *error) {
    static const char *const generic[] = {"PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer",
                                          "PythonBackend"};
    const char *class = cJSON_GetStringValue(get(folder->settings, "tokenizer_class"));
    const char *model = cJSON_GetStringValue(get(folder->config, "model_type"));
    const char *file = class ? settings_name : "config.json";
    bool is_generic = false;
    if (!class) { class = cJSON_GetStringValue(get(folder->config, "tokenizer_class")); }
    if (!class) { /* GPT2Tokenizer by the model; nothing says so where tokenizer.json is alone */
        folder->takes_json = folder->json && (model ? strcmp(model, "gpt2") != 0 : !has_vocabulary);
        return true;
    }
    if (is_gpt2(class)) { return true; }
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++) { is_generic |= strcmp(class, generic[i]) == 0; }
    if (folder->json && is_generic) { return folder->takes_json = true; }
    return refuse(folder, file, error,
                  is_generic ? "without tokenizer.json this tokenizer_class is not supported:"
                             : "this tokenizer_class is not supported:",
                  class);
}

/* ---- reading the folder ---- */

/* Only special tokens. */
static bool check_map(const struct folder *folder, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, folder->map) {
        bool is_list =
            strcmp(item->string, "additional_special_tokens") == 0 || strcmp(item->string, "extra_special_tokens") == 0;
        if (!is_list && (!ends_with(item->string, "_token") || cJSON_IsBool(item))) {
            return refuse(folder, map_name, error, "it is no special token:", item->string);
        }
    }
    return true;
}

/* The padding of a tokenizer.json names a special token. */
static bool take_padding(const struct folder *folder, cJSON *settings, struct gpt2_error *error) {
    const cJSON *pad = get(get(folder->json, "padding"), "pad_token");
    return !cJSON_IsString(pad) || get(settings, "pad_token") ||
           put(settings, "pad_token", cJSON_Duplicate(pad, true)) ||
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

static bool read_vocabulary(struct folder *folder, struct gpt2_error *error) {
    struct gpt2_tokenizer *tokenizer = folder->tokenizer;
    bool from_json = folder->json != NULL;
    char *merges = gpt2_path(folder->path, "merges.txt");
    char *path = gpt2_path(folder->path, from_json ? json_name : "vocab.json");
    bool ok = (path && merges) || gpt2_fail(error, "%s: out of memory", folder->path);
    if (ok) {
        free(tokenizer->path);
        tokenizer->path = path, path = NULL; /* for messages: the file, not the folder */
        ok = from_json ? tokenizer_read_model(tokenizer, get(folder->json, "model"), error)
                       : tokenizer_read_vocabulary(tokenizer, merges, error);
    }
    free(merges);
    free(path);
    return ok;
}

static bool build(struct folder *folder, cJSON *settings, struct gpt2_error *error) {
    struct mentions in_file = {NULL, 0, 0}; /* of a tokenizer.json that is taken as it is */
    const cJSON *cut = folder->takes_json ? get(folder->json, "pre_tokenizer") : settings;
    bool ok = check_settings(folder, settings, error) && check_map(folder, error) &&
              (collect_settings(settings) || gpt2_fail(error, "%s: out of memory", folder->path));
    if (ok && folder->takes_json) { ok = check_json(folder, error) && take_padding(folder, settings, error); }
    if (ok && adds_tokens(get(folder->json, "post_processor"))) {
        ok = refuse(folder, json_name, error, "its post_processor adds tokens to a text, unlike that of GPT-2", NULL);
    }
    ok = ok && collect_decoder(folder, settings, error) &&
         (!folder->takes_json || read_json_added(folder, &in_file, error)) &&
         collect_wanted(folder, settings, &in_file, error) && read_vocabulary(folder, error) &&
         add_all(folder, &in_file, error) && add_all(folder, &folder->wanted, error) &&
         tokenizer_finish_added(folder->tokenizer, error);
    folder->tokenizer->prefix_space = is_true(cut, "add_prefix_space");
    const struct mention *end = find(&folder->wanted, END_OF_TEXT);
    if (ok && end && end->by_default && folder->tokenizer->end_of_text >= folder->tokenizer->learned) {
        folder->tokenizer->end_of_text = -1; /* in no file: no model has learned it */
    }
    free(in_file.list);
    return ok;
}

bool tokenizer_read_folder(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    struct folder folder = {.path = path, .tokenizer = tokenizer};
    char *vocabulary = gpt2_path(path, "vocab.json");
    cJSON *settings = NULL;
    bool ok = vocabulary || gpt2_fail(error, "%s: out of memory", path);
    ok = ok && read_optional(path, settings_name, &folder.settings, error) &&
         read_optional(path, map_name, &folder.map, error) && read_optional(path, added_name, &folder.added, error) &&
         read_optional(path, json_name, &folder.json, error) &&
         read_optional(path, "config.json", &folder.config, error) &&
         choose_class(&folder, is_there(vocabulary), error);
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

/* hf_added.c — the added tokens of a Hugging Face folder: read from its files, and those that transformers would add. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/hf.h"

enum { MOST_ADDED = 1 << 16 };

/* ---- tokens of a file ---- */

static bool read_flag(const cJSON *object, const char *key, bool *flag) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item) { return true; }
    *flag = cJSON_IsTrue(item);
    return cJSON_IsBool(item);
}

/* A text, or an object with the fields of AddedToken. */
static bool read_mention(const struct hf_folder *folder, const char *file, const cJSON *item,
                         struct hf_mention *mention, struct gpt2_error *error) {
    bool single_word = false, normalized = false;
    const cJSON *content = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "content") : item;
    *mention = (struct hf_mention){.text = cJSON_GetStringValue(content), .is_string = cJSON_IsString(item)};
    if (!mention->text) {
        return hf_refuse(folder, file, error, "a token without its text:", item ? item->string : NULL);
    }
    mention->normalized = -1;
    if (mention->is_string) { return true; }
    bool ok = read_flag(item, "special", &mention->special) && read_flag(item, "lstrip", &mention->lstrip) &&
              read_flag(item, "rstrip", &mention->rstrip) && read_flag(item, "single_word", &single_word) &&
              read_flag(item, "normalized", &normalized);
    if (!ok) {
        return hf_refuse(folder, file, error, "a setting is neither true nor false of the added token", mention->text);
    }
    if (single_word) {
        return hf_refuse(folder, file, error, "single_word, which is not supported, is true for the added token",
                         mention->text);
    }
    if (cJSON_HasObjectItem(item, "normalized")) { mention->normalized = normalized; }
    return true;
}

static bool append(const struct hf_folder *folder, struct hf_mentions *mentions, struct hf_mention mention,
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

const struct hf_mention *hf_find(const struct hf_mentions *mentions, const char *text) {
    for (int i = mentions->count - 1; i >= 0; i--) {
        if (strcmp(mentions->list[i].text, text) == 0) { return &mentions->list[i]; }
    }
    return NULL;
}

/* Of two with the same id the second counts, but the first stays known by its text. */
static bool add_decoded(struct hf_folder *folder, struct hf_mention mention, int64_t id, struct gpt2_error *error) {
    mention.id = id;
    if (!append(folder, &folder->known, mention, error)) { return false; }
    for (int i = 0; i < folder->decoder.count; i++) {
        if (folder->decoder.list[i].id == id) { return folder->decoder.list[i] = mention, true; }
    }
    return append(folder, &folder->decoder, mention, error);
}

/* ---- added_tokens_decoder, and its older forms ---- */

static bool read_decoder(struct hf_folder *folder, const cJSON *decoder, struct gpt2_error *error) {
    const cJSON *item;
    if (!cJSON_IsObject(decoder)) {
        return hf_refuse(folder, hf_settings_name, error, "added_tokens_decoder is no object", NULL);
    }
    cJSON_ArrayForEach(item, decoder) {
        struct hf_mention mention;
        char *end;
        long long id = strtoll(item->string, &end, 10);
        if (end == item->string || *end != '\0' || id < 0) {
            return hf_refuse(folder, hf_settings_name, error,
                             "added_tokens_decoder: not a token's number:", item->string);
        }
        if (!cJSON_IsObject(item)) {
            return hf_refuse(folder, hf_settings_name, error, "added_tokens_decoder: not an object: the token",
                             item->string);
        }
        if (!read_mention(folder, hf_settings_name, item, &mention, error) ||
            !add_decoded(folder, mention, id, error)) {
            return false;
        }
    }
    return true;
}

static bool read_added_file(struct hf_folder *folder, const cJSON *settings, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, folder->added) {
        int64_t id;
        if (!gpt2_json_integer(item, &id)) {
            return hf_refuse(folder, hf_added_name, error, "no whole number is the id of", item->string);
        }
        bool special = hf_is_special(settings, item->string);
        if (!add_decoded(folder, (struct hf_mention){.text = item->string, .special = special, .normalized = !special},
                         id, error)) {
            return false;
        }
    }
    return true;
}

bool hf_read_json_added(struct hf_folder *folder, struct hf_mentions *list, struct gpt2_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, hf_get(folder->json, "added_tokens")) {
        struct hf_mention mention;
        int64_t id;
        if (!cJSON_IsObject(item) || !gpt2_json_integer(hf_get(item, "id"), &id)) {
            return hf_refuse(folder, hf_json_name, error, "an added token has no id", NULL);
        }
        if (!read_mention(folder, hf_json_name, item, &mention, error)) { return false; }
        if (!(list ? append(folder, list, mention, error) : add_decoded(folder, mention, id, error))) { return false; }
    }
    return true;
}

static int by_id(const void *a, const void *b) {
    const struct hf_mention *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool hf_collect_decoder(struct hf_folder *folder, cJSON *settings, struct gpt2_error *error) {
    const cJSON *decoder = hf_get(settings, "added_tokens_decoder");
    bool ok;
    if (decoder) {
        ok = read_decoder(folder, decoder, error);
    } else {
        ok = hf_merge_map(settings, folder->map) || gpt2_fail(error, "%s: out of memory", folder->path);
        ok = ok && read_added_file(folder, settings, error) && hf_read_json_added(folder, NULL, error);
    }
    if (ok && folder->decoder.count > 0) {
        qsort(folder->decoder.list, (size_t)folder->decoder.count, sizeof *folder->decoder.list, by_id);
    }
    return ok;
}

/* ---- the tokens to add, as transformers' __init__ collects them ---- */

/* The value of a special token: a text or an AddedToken. */
static bool read_special(const struct hf_folder *folder, const cJSON *item, struct hf_mention *mention,
                         struct gpt2_error *error) {
    if (cJSON_IsString(item) || (cJSON_IsObject(item) && hf_get(item, "__type"))) {
        return read_mention(folder, hf_settings_name, item, mention, error);
    }
    return hf_refuse(folder, hf_settings_name, error, "neither a text nor an AddedToken:", item->string);
}

/* By role, then the model's own names. */
static bool collect_named(const struct hf_folder *folder, const cJSON *settings, struct hf_mentions *named,
                          struct gpt2_error *error) {
    const cJSON *own = hf_get(settings, "model_specific_special_tokens"), *item;
    struct hf_mention mention;
    for (int i = 0; i < HF_ROLES; i++) {
        const cJSON *value = hf_get(settings, hf_roles[i]);
        /* GPT2Tokenizer's own defaults */
        bool by_default = !value && !folder->takes_json && i < 3;
        if (by_default) {
            mention = (struct hf_mention){.text = END_OF_TEXT, .is_string = true, .by_default = true, .normalized = -1};
        } else if (!value || cJSON_IsNull(value)) {
            continue;
        } else if (!read_special(folder, value, &mention, error)) {
            return false;
        }
        const struct hf_mention *known = by_default ? NULL : hf_find(&folder->known, mention.text);
        if (!append(folder, named, known ? *known : mention, error)) { return false; }
    }
    if (own && !cJSON_IsObject(own)) {
        return hf_refuse(folder, hf_settings_name, error, "it is no object:", own->string);
    }
    cJSON *specific = cJSON_CreateObject();
    bool ok = specific != NULL;
    cJSON_ArrayForEach(item, settings) {
        bool is_own = hf_ends_with(item->string, "_token") && !hf_is_role(item->string) &&
                      (cJSON_IsString(item) || (cJSON_IsObject(item) && hf_get(item, "__type")));
        if (is_own) { ok = ok && hf_put(specific, item->string, cJSON_Duplicate(item, true)); }
    }
    ok = (ok && hf_update(specific, own)) || gpt2_fail(error, "%s: out of memory", folder->path);
    /* The texts stay valid in `settings`. */
    const cJSON *copy;
    cJSON_ArrayForEach(copy, specific) {
        item = hf_get(own, copy->string);
        if (!item) { item = hf_get(settings, copy->string); }
        ok = ok && read_special(folder, item, &mention, error) && append(folder, named, mention, error);
    }
    cJSON_Delete(specific);
    return ok;
}

/* Adds those that are not added in another way. */
static bool want(struct hf_folder *folder, const struct hf_mentions *in_file, const struct hf_mentions *named,
                 struct hf_mention mention, struct gpt2_error *error) {
    if (mention.is_string) {
        mention.special = true;
    } else if (!mention.special && hf_find(named, mention.text)) {
        mention.special = true;
    }
    if (hf_find(in_file, mention.text) || hf_find(&folder->decoder, mention.text)) { return true; }
    return append(folder, &folder->wanted, mention, error);
}

bool hf_collect_wanted(struct hf_folder *folder, const cJSON *settings, const struct hf_mentions *in_file,
                       struct gpt2_error *error) {
    struct hf_mentions named = {NULL, 0, 0};
    const cJSON *extra = hf_get(settings, "extra_special_tokens"), *item;
    bool ok = collect_named(folder, settings, &named, error);
    if (!extra) { extra = hf_get(settings, "additional_special_tokens"); } /* from special_tokens_map.json */
    for (int i = 0; ok && i < folder->decoder.count; i++) {
        struct hf_mention mention = folder->decoder.list[i];
        mention.special = mention.special || hf_find(&named, mention.text);
        ok = append(folder, &folder->wanted, mention, error);
    }
    for (int i = 0; ok && i < named.count; i++) { ok = want(folder, in_file, &named, named.list[i], error); }
    if (ok && extra && !cJSON_IsNull(extra) && !cJSON_IsArray(extra)) {
        ok = hf_refuse(folder, hf_settings_name, error, "extra_special_tokens is no list", NULL);
    }
    cJSON_ArrayForEach(item, extra) {
        struct hf_mention mention;
        ok = ok && read_special(folder, item, &mention, error) && want(folder, in_file, &named, mention, error);
    }
    free(named.list);
    return ok;
}

bool hf_add_all(struct hf_folder *folder, const struct hf_mentions *mentions, struct gpt2_error *error) {
    for (int i = 0; i < mentions->count; i++) {
        const struct hf_mention *mention = &mentions->list[i];
        struct added_token flags = {.special = mention->special, .lstrip = mention->lstrip, .rstrip = mention->rstrip};
        flags.normalized = mention->normalized >= 0 ? mention->normalized : !mention->special;
        if (!tokenizer_add_added(folder->tokenizer, mention->text, flags, error)) { return false; }
    }
    return true;
}

/* hf_settings.c — the settings of a tokenizer, collected in the order of the files as transformers' _from_pretrained does. */
#include <string.h>

#include "gpt2/tokenizer/hf.h"

/* The special tokens that every tokenizer of transformers may have, in its order. */
const char *const hf_roles[HF_ROLES] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

bool hf_is_role(const char *key) {
    for (int i = 0; i < HF_ROLES; i++) {
        if (strcmp(hf_roles[i], key) == 0) { return true; }
    }
    return false;
}

bool hf_ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

cJSON *hf_get(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

bool hf_put(cJSON *object, const char *key, cJSON *item) {
    if (!item) { return false; }
    bool ok = hf_get(object, key) ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, item)
                                  : cJSON_AddItemToObject(object, key, item);
    if (!ok) { cJSON_Delete(item); }
    return ok;
}

bool hf_update(cJSON *into, const cJSON *from) {
    const cJSON *item;
    cJSON_ArrayForEach(item, from) {
        if (!hf_put(into, item->string, cJSON_Duplicate(item, true))) { return false; }
    }
    return true;
}

bool hf_collect_settings(cJSON *settings) {
    cJSON *old = cJSON_DetachItemFromObjectCaseSensitive(settings, "additional_special_tokens");
    if (old && hf_get(settings, "extra_special_tokens")) {
        cJSON_Delete(old);
    } else if (old && !hf_put(settings, "extra_special_tokens", old)) {
        return false;
    }
    cJSON *specific = cJSON_CreateObject(), *next;
    bool ok = specific != NULL;
    for (cJSON *item = settings->child; ok && item; item = next) {
        next = item->next;
        if (hf_is_role(item->string) || !hf_ends_with(item->string, "_token") || !cJSON_IsString(item)) { continue; }
        ok = hf_put(specific, item->string, cJSON_Duplicate(item, true));
        cJSON_DeleteItemFromObjectCaseSensitive(settings, item->string);
    }
    if (ok && cJSON_IsObject(hf_get(settings, "extra_special_tokens"))) {
        ok = hf_update(specific, hf_get(settings, "extra_special_tokens"));
        cJSON_DeleteItemFromObjectCaseSensitive(settings, "extra_special_tokens");
    }
    if (ok && specific->child) { return hf_put(settings, "model_specific_special_tokens", specific); }
    cJSON_Delete(specific);
    return ok;
}

static const char from_map[] = "__from_map"; /* marks such an object */

/* An object of special_tokens_map.json is a special token. */
static bool make_special(cJSON *item) {
    return !cJSON_IsObject(item) ||
           (hf_put(item, "special", cJSON_CreateTrue()) && hf_put(item, from_map, cJSON_CreateTrue()) &&
            hf_put(item, "__type", cJSON_CreateString("AddedToken")));
}

static bool merge_extra(cJSON *settings, const cJSON *list) {
    const cJSON *existing = hf_get(settings, "extra_special_tokens"), *item;
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
    return ok && hf_put(settings, "extra_special_tokens", all);
}

bool hf_merge_map(cJSON *settings, const cJSON *map) {
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
        if (!hf_put(settings, item->string, copy)) { return false; }
    }
    const cJSON *extra = hf_get(settings, "extra_special_tokens");
    if (!cJSON_IsObject(extra)) { return true; }
    cJSON *specific = hf_get(settings, "model_specific_special_tokens");
    if (!specific) {
        specific = cJSON_CreateObject();
        if (!specific || !hf_put(settings, "model_specific_special_tokens", specific)) { return false; }
    }
    bool ok = hf_update(specific, extra);
    cJSON_DeleteItemFromObjectCaseSensitive(settings, "extra_special_tokens");
    return ok;
}

/* Is it this text to transformers at this time? Objects of tokenizer_config.json are not read yet. */
static bool names(const cJSON *item, const char *text) {
    const char *name = cJSON_GetStringValue(hf_get(item, from_map) ? hf_get(item, "content") : item);
    return name && strcmp(name, text) == 0;
}

bool hf_is_special(const cJSON *settings, const char *text) {
    const cJSON *item;
    for (int i = 0; i < HF_ROLES; i++) {
        if (names(hf_get(settings, hf_roles[i]), text)) { return true; }
    }
    cJSON_ArrayForEach(item, hf_get(settings, "extra_special_tokens")) {
        if (names(item, text)) { return true; }
    }
    return false;
}

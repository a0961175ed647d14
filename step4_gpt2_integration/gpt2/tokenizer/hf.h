/* hf.h — what hf_folder.c, hf_settings.c and hf_added.c share: the tokenizer of a Hugging Face folder, as transformers makes
 * it.
 *
 * transformers collects its settings in a dictionary, in the order of the files; so do these files, in a cJSON object.
 */
#ifndef GPT2_TOKENIZER_HF_H
#define GPT2_TOKENIZER_HF_H

#include "gpt2/formats/json.h"
#include "gpt2/tokenizer/internal.h"

/* A token as a file gives it. */
struct hf_mention {
    const char *text;
    bool is_string;  /* without flags */
    bool by_default; /* no file names it */
    bool special, lstrip, rstrip;
    int normalized; /* -1: not given, so that of a token that is not special */
    int64_t id;     /* of added_tokens_decoder: only the order counts */
};

struct hf_mentions {
    struct hf_mention *list;
    int count, room;
};

struct hf_folder {
    const char *path;
    struct gpt2_tokenizer *tokenizer;
    cJSON *config, *settings, *map, *added, *json; /* the files; NULL: not there */
    bool takes_json;                               /* tokenizer.json as it is */
    struct hf_mentions decoder, known, wanted; /* transformers' added_tokens_decoder, added_tokens_map, tokens_to_add */
};

/* ---- the folder (hf_folder.c) ---- */

extern const char hf_settings_name[], hf_added_name[], hf_json_name[];

/* Fails with "FOLDER/FILE: WHAT "TEXT""; text may be NULL. */
bool hf_refuse(const struct hf_folder *folder, const char *file, struct gpt2_error *error, const char *what,
               const char *text);

/* ---- the settings (hf_settings.c); false: out of memory ---- */

enum { HF_ROLES = 7 };
extern const char *const hf_roles[HF_ROLES];

bool hf_is_role(const char *key);
bool hf_ends_with(const char *text, const char *end);
cJSON *hf_get(const cJSON *object, const char *key);

/* object[key] = item, which it then owns, also where it fails: the place of an old item stays. */
bool hf_put(cJSON *object, const char *key, cJSON *item);

/* All items of `from` into `into`. */
bool hf_update(cJSON *into, const cJSON *from);

/* The special tokens with names of the model's own go to model_specific_special_tokens; additional_special_tokens is the old
 * name of extra_special_tokens. */
bool hf_collect_settings(cJSON *settings);

/* special_tokens_map.json, where tokenizer_config.json has no added_tokens_decoder. */
bool hf_merge_map(cJSON *settings, const cJSON *map);

/* Is this text a special token by the settings so far? */
bool hf_is_special(const cJSON *settings, const char *text);

/* ---- added tokens (hf_added.c) ---- */

/* The last one with this text; NULL: there is none. */
const struct hf_mention *hf_find(const struct hf_mentions *mentions, const char *text);

/* The added tokens of tokenizer.json; list: append to it; NULL: to the decoder. */
bool hf_read_json_added(struct hf_folder *folder, struct hf_mentions *list, struct gpt2_error *error);

/* folder->decoder and folder->known: from added_tokens_decoder, or from its older forms. */
bool hf_collect_decoder(struct hf_folder *folder, cJSON *settings, struct gpt2_error *error);

/* folder->wanted: as transformers' __init__ collects them. in_file: those of a tokenizer.json that is taken as it is. */
bool hf_collect_wanted(struct hf_folder *folder, const cJSON *settings, const struct hf_mentions *in_file,
                       struct gpt2_error *error);

/* Adds them to folder->tokenizer. */
bool hf_add_all(struct hf_folder *folder, const struct hf_mentions *mentions, struct gpt2_error *error);

#endif

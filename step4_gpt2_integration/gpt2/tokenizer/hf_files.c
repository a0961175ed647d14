/* hf_files.c — Hugging Face's files: vocab.json and merges.txt, read and written; the model of a tokenizer.json, read;
 * tokenizer_config.json, written. hf_folder.c decides which of them count. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/json.h"
#include "gpt2/tokenizer/internal.h"

enum { MOST_BYTES = 1 << 25 };

/* ---- the vocabulary: an object {spelling: id} ---- */

/* Special tokens like <|endoftext|> are stored as plain text, which for printable ASCII equals the spelling. */
static bool read_tokens(struct gpt2_tokenizer *tokenizer, const cJSON *vocabulary, struct gpt2_error *error) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, vocabulary) {
        int64_t id;
        size_t length = strlen(entry->string);
        if (!gpt2_json_integer(entry, &id)) {
            return gpt2_fail(error, "%s: the id of \"%.40s\" is not a whole number", tokenizer->path, entry->string);
        }
        uint8_t *bytes = malloc(length + 1);
        if (!bytes) { return gpt2_fail(error, "%s: out of memory", tokenizer->path); }
        int64_t size = bytes_of_spelling(entry->string, length, bytes);
        bool ok = size >= 0 ? tokenizer_add_token(tokenizer, id, bytes, (size_t)size, error)
                            : gpt2_fail(error, "%s: token %lld, \"%.40s\", has a character that stands for no byte",
                                        tokenizer->path, (long long)id, entry->string);
        free(bytes);
        if (!ok) { return false; }
    }
    return true;
}

/* ---- one merge: two spellings with a space between them ---- */

static int find_spelling(const struct gpt2_tokenizer *tokenizer, const char *spelling, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    int64_t length = bytes ? bytes_of_spelling(spelling, size, bytes) : -1;
    int id = length > 0 ? gpt2_tokenizer_find(tokenizer, bytes, (size_t)length) : -1;
    free(bytes);
    return id;
}

static bool add_pair(struct gpt2_tokenizer *tokenizer, const char *left, size_t left_size, const char *right,
                     size_t right_size, const char *where, struct gpt2_error *error) {
    int a = find_spelling(tokenizer, left, left_size), b = find_spelling(tokenizer, right, right_size);
    if (a < 0 || b < 0) {
        const char *wrong = a < 0 ? left : right;
        size_t size = a < 0 ? left_size : right_size;
        return gpt2_fail(error, "%s: \"%.*s\" is not a token", where, (int)(size < 40 ? size : 40), wrong);
    }
    return tokenizer_add_merge(tokenizer, a, b, where, error);
}

static bool add_line(struct gpt2_tokenizer *tokenizer, const char *line, size_t size, const char *where,
                     struct gpt2_error *error) {
    const char *blank = memchr(line, ' ', size);
    size_t left = blank ? (size_t)(blank - line) : 0, right = blank ? size - left - 1 : 0;
    if (left == 0 || right == 0 || memchr(blank + 1, ' ', right)) {
        return gpt2_fail(error, "%s: not two tokens with a space between them", where);
    }
    return add_pair(tokenizer, line, left, blank + 1, right, where, error);
}

static bool read_lines(struct gpt2_tokenizer *tokenizer, const struct gpt2_file *file, struct gpt2_error *error) {
    const char *at = (const char *)file->bytes, *end = at + file->size;
    for (int number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at), size = length;
        if (size > 0 && at[size - 1] == '\r') { size--; }
        bool is_header = size >= 8 && memcmp(at, "#version", 8) == 0; /* on any line, as tokenizers has it */
        char where[300];
        snprintf(where, sizeof where, "%.250s, line %d", file->path, number);
        if (!is_header && size > 0 && !add_line(tokenizer, at, size, where, error)) { return false; }
        at += length + 1;
    }
    return true;
}

bool tokenizer_read_vocabulary(struct gpt2_tokenizer *tokenizer, const char *merges, struct gpt2_error *error) {
    struct gpt2_file lines;
    cJSON *root = gpt2_json_read(tokenizer->path, MOST_BYTES, error);
    tokenizer->most = root ? cJSON_GetArraySize(root) : 0;
    bool ok = root && read_tokens(tokenizer, root, error) && tokenizer_index(tokenizer, error);
    cJSON_Delete(root);
    if (!ok || !gpt2_file_open(&lines, merges, error)) { return false; }
    ok = read_lines(tokenizer, &lines, error);
    gpt2_file_close(&lines);
    return ok;
}

/* ---- tokenizer.json ---- */

/* Merges are texts with a space, or pairs of texts (tokenizers 0.20 and later). */
static bool read_merges(struct gpt2_tokenizer *tokenizer, const cJSON *merges, const char *path,
                        struct gpt2_error *error) {
    const cJSON *entry;
    int number = 1;
    cJSON_ArrayForEach(entry, merges) {
        char where[300];
        snprintf(where, sizeof where, "%.250s, merge %d", path, number++);
        const char *line = cJSON_GetStringValue(entry), *left = NULL, *right = NULL;
        if (cJSON_IsArray(entry) && cJSON_GetArraySize(entry) == 2) {
            left = cJSON_GetStringValue(entry->child);
            right = cJSON_GetStringValue(entry->child->next);
        }
        if (!line && !(left && right)) { return gpt2_fail(error, "%s: not two tokens", where); }
        if (!(line ? add_line(tokenizer, line, strlen(line), where, error)
                   : add_pair(tokenizer, left, strlen(left), right, strlen(right), where, error))) {
            return false;
        }
    }
    return true;
}

bool tokenizer_read_model(struct gpt2_tokenizer *tokenizer, const cJSON *model, struct gpt2_error *error) {
    const cJSON *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab");
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model, "type"));
    if (!kind || strcmp(kind, "BPE") != 0) { return gpt2_fail(error, "%s: its model is not BPE", tokenizer->path); }
    if (!cJSON_IsObject(vocabulary) || !cJSON_IsArray(merges)) {
        return gpt2_fail(error, "%s: its model has no vocab or no merges", tokenizer->path);
    }
    tokenizer->most = cJSON_GetArraySize(vocabulary);
    return read_tokens(tokenizer, vocabulary, error) && tokenizer_index(tokenizer, error) &&
           read_merges(tokenizer, merges, tokenizer->path, error);
}

/* ---- writing ---- */

/* The spelling as a JSON string; " and \ are the only characters in spellings that need an escape. */
static bool write_json_string(struct gpt2_output *output, const char *spelling, size_t size, struct gpt2_error *error) {
    bool ok = gpt2_output_write(output, "\"", 1, error);
    for (size_t i = 0; ok && i < size; i++) {
        if (spelling[i] == '"' || spelling[i] == '\\') { ok = gpt2_output_write(output, "\\", 1, error); }
        ok = ok && gpt2_output_write(output, spelling + i, 1, error);
    }
    return ok && gpt2_output_write(output, "\"", 1, error);
}

static size_t spell_token(const struct gpt2_tokenizer *tokenizer, int id, char *spelling) {
    const struct token *token = &tokenizer->tokens[id];
    return spell_bytes(tokenizer->pool + token->offset, token->size, spelling);
}

static bool write_vocabulary(const struct gpt2_tokenizer *tokenizer, const char *path, char *spelling,
                             struct gpt2_error *error) {
    struct gpt2_output output;
    bool ok = gpt2_output_begin(&output, path, error);
    for (int id = 0; ok && id < tokenizer->learned; id++) {
        char number[24];
        int length = snprintf(number, sizeof number, ": %d", id);
        ok = gpt2_output_write(&output, id == 0 ? "{" : ", ", id == 0 ? 1 : 2, error) &&
             write_json_string(&output, spelling, spell_token(tokenizer, id, spelling), error) &&
             gpt2_output_write(&output, number, (size_t)length, error);
    }
    return ok && gpt2_output_write(&output, "}\n", 2, error) && gpt2_output_commit(&output, error);
}

static bool write_merges(const struct gpt2_tokenizer *tokenizer, const char *path, char *spelling,
                         struct gpt2_error *error) {
    static const char header[] = "#version: 0.2\n";
    struct gpt2_output output;
    bool ok = gpt2_output_begin(&output, path, error) && gpt2_output_write(&output, header, strlen(header), error);
    for (int rank = 0; ok && rank < tokenizer->merge_count; rank++) {
        const struct merge *merge = &tokenizer->merges[rank];
        ok = gpt2_output_write(&output, spelling, spell_token(tokenizer, merge->left, spelling), error) &&
             gpt2_output_write(&output, " ", 1, error) &&
             gpt2_output_write(&output, spelling, spell_token(tokenizer, merge->right, spelling), error) &&
             gpt2_output_write(&output, "\n", 1, error);
    }
    return ok && gpt2_output_commit(&output, error);
}

/* ---- tokenizer_config.json, for what a vocabulary and merges do not say ---- */

static cJSON *added_object(const struct gpt2_tokenizer *tokenizer, const struct added_token *added,
                           struct gpt2_error *error) {
    char *text = strndup((const char *)tokenizer->pool + added->offset, added->size);
    cJSON *object = cJSON_CreateObject();
    bool ok = text && object && cJSON_AddStringToObject(object, "content", text) &&
              cJSON_AddBoolToObject(object, "lstrip", added->lstrip) &&
              cJSON_AddBoolToObject(object, "normalized", added->normalized) &&
              cJSON_AddBoolToObject(object, "rstrip", added->rstrip) &&
              cJSON_AddBoolToObject(object, "single_word", false) &&
              cJSON_AddBoolToObject(object, "special", added->special);
    free(text);
    if (ok) { return object; }
    cJSON_Delete(object);
    gpt2_fail(error, "%s: out of memory", tokenizer->path);
    return NULL;
}

/* The ids of tokens that the vocabulary lacks follow from their order. The three roles default to <|endoftext|>, which is added
 * only if it was. */
static bool fill_settings(const struct gpt2_tokenizer *tokenizer, cJSON *settings, struct gpt2_error *error) {
    static const char *const roles[] = {"bos_token", "eos_token", "unk_token"};
    cJSON *decoder = cJSON_AddObjectToObject(settings, "added_tokens_decoder");
    bool ok = decoder && cJSON_AddStringToObject(settings, "tokenizer_class", "GPT2Tokenizer") &&
              cJSON_AddBoolToObject(settings, "add_prefix_space", tokenizer->prefix_space);
    for (int i = 0; ok && i < 3; i++) {
        ok = tokenizer->end_of_text >= 0 ? cJSON_AddStringToObject(settings, roles[i], END_OF_TEXT) != NULL
                                         : cJSON_AddNullToObject(settings, roles[i]) != NULL;
    }
    if (!ok) { return gpt2_fail(error, "%s: out of memory", tokenizer->path); }
    const struct added_token **by_id = calloc((size_t)tokenizer->count, sizeof *by_id);
    ok = by_id || gpt2_fail(error, "%s: out of memory", tokenizer->path);
    for (int i = 0; ok && i < tokenizer->added_count; i++) { by_id[tokenizer->added[i].id] = &tokenizer->added[i]; }
    for (int i = 0; ok && i < tokenizer->count; i++) {
        char id[16];
        if (!by_id[i]) { continue; }
        cJSON *object = added_object(tokenizer, by_id[i], error);
        snprintf(id, sizeof id, "%d", i);
        ok = object != NULL;
        if (ok && !cJSON_AddItemToObject(decoder, id, object)) {
            cJSON_Delete(object);
            ok = gpt2_fail(error, "%s: out of memory", tokenizer->path);
        }
    }
    free(by_id);
    return ok;
}

static bool write_settings(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error) {
    char *path = gpt2_path(folder, "tokenizer_config.json"), *text = NULL;
    cJSON *settings = cJSON_CreateObject();
    bool ok = (path && settings) || gpt2_fail(error, "%s: out of memory", folder);
    ok = ok && fill_settings(tokenizer, settings, error);
    if (ok) {
        text = cJSON_Print(settings);
        ok = text ? gpt2_file_write(path, text, strlen(text), error) : gpt2_fail(error, "%s: out of memory", folder);
    }
    cJSON_Delete(settings);
    cJSON_free(text);
    free(path);
    return ok;
}

bool gpt2_tokenizer_write_hf(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error) {
    char *vocabulary = gpt2_path(folder, "vocab.json"), *merges = gpt2_path(folder, "merges.txt");
    char *spelling = malloc((size_t)TOKENIZER_LONGEST_TOKEN * 2);
    bool ok = vocabulary && merges && spelling;
    if (!ok) {
        gpt2_fail(error, "%s: out of memory", folder);
    } else {
        ok = write_vocabulary(tokenizer, vocabulary, spelling, error) &&
             write_merges(tokenizer, merges, spelling, error) &&
             (tokenizer_is_plain(tokenizer) || write_settings(tokenizer, folder, error));
    }
    free(vocabulary);
    free(merges);
    free(spelling);
    return ok;
}

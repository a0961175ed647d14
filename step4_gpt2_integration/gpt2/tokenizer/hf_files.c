/* hf_files.c — Hugging Face's files: vocab.json and merges.txt, read and written, and tokenizer.json, read. */
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
        bool is_header = number == 1 && size >= 8 && memcmp(at, "#version", 8) == 0;
        char where[300];
        snprintf(where, sizeof where, "%.250s, line %d", file->path, number);
        if (!is_header && size > 0 && !add_line(tokenizer, at, size, where, error)) { return false; }
        at += length + 1;
    }
    return true;
}

bool tokenizer_read_vocabulary(struct gpt2_tokenizer *tokenizer, const char *vocabulary, const char *merges,
                               struct gpt2_error *error) {
    struct gpt2_file lines;
    cJSON *root = gpt2_json_read(vocabulary, MOST_BYTES, error);
    tokenizer->most = root ? cJSON_GetArraySize(root) : 0;
    bool ok = root && read_tokens(tokenizer, root, error) && tokenizer_index(tokenizer, error);
    cJSON_Delete(root);
    if (!ok || !gpt2_file_open(&lines, merges, error)) { return false; }
    ok = read_lines(tokenizer, &lines, error);
    gpt2_file_close(&lines);
    return ok;
}

/* ---- tokenizer.json ---- */

static bool is_text(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text && text[0] != '\0';
}

static bool is_true(const cJSON *object, const char *key) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* The post-processor: none, or a template of the text alone. */
static bool adds_tokens(const cJSON *processor) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(processor, "type"));
    if (!processor || cJSON_IsNull(processor) || (type && strcmp(type, "ByteLevel") == 0)) { return false; }
    return !type || strcmp(type, "TemplateProcessing") != 0 ||
           cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(processor, "single")) != 1;
}

/* Refuses settings that split or merge in another way than GPT-2. */
static bool check_kind(const cJSON *root, const cJSON *model, const char *path, struct gpt2_error *error) {
    const cJSON *cut = cJSON_GetObjectItemCaseSensitive(root, "pre_tokenizer");
    const cJSON *normalizer = cJSON_GetObjectItemCaseSensitive(root, "normalizer");
    const cJSON *dropout = cJSON_GetObjectItemCaseSensitive(model, "dropout");
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cut, "type"));
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model, "type"));
    if (!kind || strcmp(kind, "BPE") != 0) { return gpt2_fail(error, "%s: its model is not BPE", path); }
    if (!type || strcmp(type, "ByteLevel") != 0) {
        return gpt2_fail(error, "%s: its pre_tokenizer is not ByteLevel alone, as that of GPT-2", path);
    }
    if (!cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(cut, "add_prefix_space"))) {
        return gpt2_fail(error, "%s: its pre_tokenizer adds a leading space, unlike that of GPT-2", path);
    }
    if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(cut, "use_regex")) ||
        (normalizer && !cJSON_IsNull(normalizer)) || is_true(model, "ignore_merges") ||
        is_true(model, "byte_fallback") || is_text(model, "continuing_subword_prefix") ||
        is_text(model, "end_of_word_suffix") || (dropout && dropout->valuedouble > 0.0)) {
        return gpt2_fail(error, "%s: it normalizes, splits or merges in another way than GPT-2", path);
    }
    if (adds_tokens(cJSON_GetObjectItemCaseSensitive(root, "post_processor"))) {
        return gpt2_fail(error, "%s: its post_processor adds tokens to a text, unlike that of GPT-2", path);
    }
    return true;
}

/* Added tokens: <|endoftext|> alone. */
static bool read_added(struct gpt2_tokenizer *tokenizer, const cJSON *added, const cJSON *vocabulary,
                       struct gpt2_error *error) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, added) {
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "content"));
        int64_t id;
        if (!text || !gpt2_json_integer(cJSON_GetObjectItemCaseSensitive(entry, "id"), &id)) {
            return gpt2_fail(error, "%s: an added token has no content or no id", tokenizer->path);
        }
        if (strcmp(text, END_OF_TEXT) != 0) {
            return gpt2_fail(error, "%s: the added token \"%.40s\" is not a token of GPT-2", tokenizer->path, text);
        }
        if (is_true(entry, "lstrip") || is_true(entry, "rstrip") || is_true(entry, "single_word")) {
            return gpt2_fail(error, "%s: the added token \"%s\" looks at what is beside it, as GPT-2's does not",
                             tokenizer->path, text);
        }
        if (!cJSON_GetObjectItemCaseSensitive(vocabulary, text) &&
            !tokenizer_add_token(tokenizer, id, (const uint8_t *)text, strlen(text), error)) {
            return false;
        }
    }
    return true;
}

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

bool tokenizer_read_json(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_error *error) {
    cJSON *root = gpt2_json_read(path, MOST_BYTES, error);
    if (!root) { return false; }
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(root, "model");
    const cJSON *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab");
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
    bool ok = check_kind(root, model, path, error);
    if (ok && (!cJSON_IsObject(vocabulary) || !cJSON_IsArray(merges))) {
        ok = gpt2_fail(error, "%s: its model has no vocab or no merges", path);
    }
    const cJSON *added = cJSON_GetObjectItemCaseSensitive(root, "added_tokens");
    tokenizer->most = cJSON_GetArraySize(vocabulary) + cJSON_GetArraySize(added);
    ok = ok && read_tokens(tokenizer, vocabulary, error) && read_added(tokenizer, added, vocabulary, error) &&
         tokenizer_index(tokenizer, error) && read_merges(tokenizer, merges, path, error);
    cJSON_Delete(root);
    return ok;
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
    for (int id = 0; ok && id < tokenizer->count; id++) {
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

bool gpt2_tokenizer_write_hf(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error) {
    char *vocabulary = gpt2_path(folder, "vocab.json"), *merges = gpt2_path(folder, "merges.txt");
    char *spelling = malloc((size_t)TOKENIZER_LONGEST_TOKEN * 2);
    bool ok = vocabulary && merges && spelling;
    if (!ok) {
        gpt2_fail(error, "%s: out of memory", folder);
    } else {
        ok = write_vocabulary(tokenizer, vocabulary, spelling, error) &&
             write_merges(tokenizer, merges, spelling, error);
    }
    free(vocabulary);
    free(merges);
    free(spelling);
    return ok;
}

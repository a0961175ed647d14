#include "json.h"

#include <string.h>

#include "gpt2/file.h"

static const double largest_exact = 9007199254740992.0; /* 2^53 */

/* Has the text a NUL byte or a \u0000 escape? */
static bool has_nul(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0') { return true; }
        if (text[i] != '\\') { continue; }
        if (size - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0) { return true; }
        i++; /* skip the escaped character */
    }
    return false;
}

cJSON *gpt2_json_parse(const void *bytes, size_t size, const char *file, struct gpt2_error *error) {
    const char *text = bytes, *end = text;
    if (has_nul(text, size)) {
        gpt2_fail(error, "%s: invalid JSON: it has NUL characters in it", file);
        return NULL;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    while (root && end < text + size && strchr(" \t\r\n", *end)) { end++; }
    if (root && end == text + size && cJSON_IsObject(root)) { return root; }
    if (root && !cJSON_IsObject(root)) {
        gpt2_fail(error, "%s: this JSON is not an object", file);
    } else {
        gpt2_fail(error, "%s: invalid JSON at byte %td of %zu", file, end - text, size);
    }
    cJSON_Delete(root);
    return NULL;
}

cJSON *gpt2_json_read(const char *path, size_t most, struct gpt2_error *error) {
    struct gpt2_file file;
    cJSON *root = NULL;
    if (!gpt2_file_open(&file, path, error)) { return NULL; }
    if (file.size > most) {
        gpt2_fail(error, "%s: %zu bytes, more than the %zu that such a file may have", path, file.size, most);
    } else {
        root = gpt2_json_parse(file.bytes, file.size, path, error);
    }
    gpt2_file_close(&file);
    return root;
}

bool gpt2_json_integer(const cJSON *item, int64_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble <= largest_exact)) { return false; }
    *value = (int64_t)item->valuedouble;
    return (double)*value == item->valuedouble;
}

#include "json.h"

#include <stdlib.h>
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

static int by_key(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds a key that an object has twice, at any depth: readers disagree about which of the two values counts. *key: NULL: there
 * is none.
 * False: out of memory. */
static bool find_doubled(const cJSON *item, const char **key) {
    const cJSON *child;
    size_t count = 0;
    cJSON_ArrayForEach(child, item) {
        if ((child->type & (cJSON_Object | cJSON_Array)) && !find_doubled(child, key)) { return false; }
        count++;
    }
    if (*key || !cJSON_IsObject(item) || count < 2) { return true; }
    const char **keys = malloc(count * sizeof *keys);
    if (!keys) { return false; }
    count = 0;
    cJSON_ArrayForEach(child, item) {
        keys[count++] = child->string;
    }
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 1; i < count && !*key; i++) {
        if (strcmp(keys[i - 1], keys[i]) == 0) { *key = keys[i]; }
    }
    free(keys);
    return true;
}

static bool check_keys(const cJSON *root, const char *file, struct gpt2_error *error) {
    const char *key = NULL;
    if (!find_doubled(root, &key)) { return gpt2_fail(error, "%s: out of memory", file); }
    return !key || gpt2_fail(error, "%s: invalid JSON: the key \"%.60s\" is there twice", file, key);
}

cJSON *gpt2_json_parse(const void *bytes, size_t size, const char *file, struct gpt2_error *error) {
    const char *text = bytes, *end = text;
    if (has_nul(text, size)) {
        gpt2_fail(error, "%s: invalid JSON: it has NUL characters in it", file);
        return NULL;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    while (root && end < text + size && strchr(" \t\r\n", *end)) { end++; }
    if (root && end == text + size && cJSON_IsObject(root)) {
        if (check_keys(root, file, error)) { return root; }
    } else if (root && !cJSON_IsObject(root)) {
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

#include "hf_index.h"

#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/json.h"

enum { MOST_BYTES = 16 << 20 };

static int by_name(const void *a, const void *b) {
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static int by_file(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A file beside the index: the name must not lead to another folder. */
static bool is_file_name(const char *name) {
    return name && name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool read_map(struct hf_index *index, const cJSON *map, const char *path, struct gpt2_error *error) {
    const cJSON *entry;
    index->count = 0;
    cJSON_ArrayForEach(entry, map) {
        const char *file = cJSON_GetStringValue(entry);
        if (!is_file_name(file)) {
            return gpt2_fail(error, "%s: the file of %.60s is not one beside the index", path, entry->string);
        }
        index->files[index->count] = file;
        index->entries[index->count++] = entry;
    }
    qsort(index->entries, (size_t)index->count, sizeof *index->entries, by_name);
    qsort(index->files, (size_t)index->count, sizeof *index->files, by_file);
    for (int i = 0; i < index->count; i++) {
        if (i == 0 || strcmp(index->files[i], index->files[index->file_count - 1]) != 0) {
            index->files[index->file_count++] = index->files[i];
        }
    }
    return index->file_count <= HF_INDEX_MOST_FILES || gpt2_fail(error, "%s: %d files, more than the %d of a model",
                                                                 path, index->file_count, (int)HF_INDEX_MOST_FILES);
}

bool hf_index_open(struct hf_index *index, const char *path, struct gpt2_error *error) {
    *index = (struct hf_index){.root = gpt2_json_read(path, MOST_BYTES, error)};
    if (!index->root) { return false; }
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index->root, "weight_map");
    size_t count = cJSON_IsObject(map) ? (size_t)cJSON_GetArraySize(map) : 0;
    bool ok = count > 0 || gpt2_fail(error, "%s: no weight_map that names the file of each tensor", path);
    if (ok) {
        index->entries = calloc(count, sizeof *index->entries);
        index->files = calloc(count, sizeof *index->files);
        ok = (index->entries && index->files) || gpt2_fail(error, "%s: out of memory", path);
    }
    ok = ok && read_map(index, map, path, error);
    if (!ok) { hf_index_close(index); }
    return ok;
}

void hf_index_close(struct hf_index *index) {
    cJSON_Delete(index->root);
    free(index->entries);
    free(index->files);
    *index = (struct hf_index){0};
}

const char *hf_index_find(const struct hf_index *index, const char *tensor) {
    int low = 0, high = index->count;
    while (low < high) {
        int middle = low + (high - low) / 2, order = strcmp(tensor, index->entries[middle]->string);
        if (order == 0) { return cJSON_GetStringValue(index->entries[middle]); }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

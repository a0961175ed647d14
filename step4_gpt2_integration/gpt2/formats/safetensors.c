/* safetensors.c — the container of named arrays, read and written (safetensors.h). */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/json.h"

enum { LENGTH_BYTES = 8 };

static const struct {
    const char *name;
    size_t bytes;
} types[] = {{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},  {"I32", 4},     {"I16", 2},    {"I8", 1},
             {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

size_t safetensors_type_bytes(const char *type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, type) == 0) { return types[i].bytes; }
    }
    return 0;
}

/* ---- one entry of the header ---- */

static bool read_shape(struct safetensors_tensor *tensor, const cJSON *shape, const char *file,
                       struct gpt2_error *error) {
    const cJSON *item;
    if (!cJSON_IsArray(shape)) { return gpt2_fail(error, "%s: %s: its shape is not an array", file, tensor->name); }
    cJSON_ArrayForEach(item, shape) {
        if (tensor->dimensions == SAFETENSORS_MOST_DIMENSIONS) {
            return gpt2_fail(error, "%s: %s: more than %d dimensions", file, tensor->name, SAFETENSORS_MOST_DIMENSIONS);
        }
        if (!gpt2_json_integer(item, &tensor->shape[tensor->dimensions++])) {
            return gpt2_fail(error, "%s: %s: a dimension is not a whole number", file, tensor->name);
        }
    }
    return true;
}

static bool read_offsets(struct safetensors_tensor *tensor, const cJSON *offsets, const char *file,
                         struct gpt2_error *error) {
    int64_t begin = 0, end = -1;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !gpt2_json_integer(offsets->child, &begin) ||
        !gpt2_json_integer(offsets->child->next, &end) || end < begin) {
        return gpt2_fail(error, "%s: %s: data_offsets are not a pair of a begin and an end", file, tensor->name);
    }
    tensor->begin = (uint64_t)begin;
    tensor->end = (uint64_t)end;
    return true;
}

/* Do type, shape and offsets agree on the number of bytes? */
static bool check_size(const struct safetensors_tensor *tensor, const char *file, struct gpt2_error *error) {
    uint64_t bytes = safetensors_type_bytes(tensor->type);
    if (bytes == 0) { return gpt2_fail(error, "%s: %s: unknown type %.20s", file, tensor->name, tensor->type); }
    for (int i = 0; i < tensor->dimensions; i++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)tensor->shape[i], &bytes)) {
            return gpt2_fail(error, "%s: %s: its shape is too large", file, tensor->name);
        }
    }
    if (bytes == tensor->end - tensor->begin) { return true; }
    return gpt2_fail(error, "%s: %s: its shape of %s takes %llu bytes, its offsets span %llu", file, tensor->name,
                     tensor->type, (unsigned long long)bytes, (unsigned long long)(tensor->end - tensor->begin));
}

static bool read_tensor(struct safetensors_tensor *tensor, const cJSON *entry, const char *file,
                        struct gpt2_error *error) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    tensor->name = entry->string;
    if (!cJSON_IsObject(entry) || !type || !shape || !offsets || cJSON_GetArraySize(entry) != 3) {
        return gpt2_fail(error, "%s: %s: its entry is not dtype, shape and data_offsets", file, tensor->name);
    }
    if (!cJSON_IsString(type)) { return gpt2_fail(error, "%s: %s: its dtype is not a text", file, tensor->name); }
    tensor->type = type->valuestring;
    return read_shape(tensor, shape, file, error) && read_offsets(tensor, offsets, file, error) &&
           check_size(tensor, file, error);
}

/* ---- all entries ---- */

static int by_place(const void *a, const void *b) {
    const struct safetensors_tensor *x = a, *y = b;
    if (x->begin != y->begin) { return x->begin < y->begin ? -1 : 1; }
    return (x->end > y->end) - (x->end < y->end);
}

/* Do the sorted tensors cover the data exactly, without overlap or gap? */
static bool check_places(struct safetensors *safetensors, const uint8_t *data, uint64_t size,
                         struct gpt2_error *error) {
    const char *file = safetensors->file.path;
    uint64_t expected = 0;
    for (int i = 0; i < safetensors->count; i++) {
        struct safetensors_tensor *tensor = &safetensors->tensors[i];
        if (tensor->end > size) {
            return gpt2_fail(error, "%s: %s ends at byte %llu of the data, of which there are %llu", file, tensor->name,
                             (unsigned long long)tensor->end, (unsigned long long)size);
        }
        if (tensor->begin != expected) {
            return gpt2_fail(error, "%s: %s: its bytes %s", file, tensor->name,
                             tensor->begin < expected ? "overlap another tensor's" : "come after a hole");
        }
        tensor->bytes = data + tensor->begin;
        expected = tensor->end;
    }
    if (expected == size) { return true; }
    return gpt2_fail(error, "%s: %llu bytes at its end belong to no tensor", file,
                     (unsigned long long)(size - expected));
}

static bool check_metadata(const cJSON *metadata, const char *file, struct gpt2_error *error) {
    const cJSON *item;
    if (!cJSON_IsObject(metadata)) { return gpt2_fail(error, "%s: __metadata__ is not an object", file); }
    cJSON_ArrayForEach(item, metadata) {
        if (!cJSON_IsString(item)) {
            return gpt2_fail(error, "%s: __metadata__: %s is not a text", file, item->string);
        }
    }
    return true;
}

static bool read_entries(struct safetensors *safetensors, struct gpt2_error *error) {
    const cJSON *entry;
    bool metadata = false;
    safetensors->tensors = calloc((size_t)cJSON_GetArraySize(safetensors->header) + 1, sizeof *safetensors->tensors);
    if (!safetensors->tensors) { return gpt2_fail(error, "%s: out of memory", safetensors->file.path); }
    cJSON_ArrayForEach(entry, safetensors->header) {
        if (!metadata && strcmp(entry->string, "__metadata__") == 0) {
            metadata = true;
            if (!check_metadata(entry, safetensors->file.path, error)) { return false; }
        } else if (!read_tensor(&safetensors->tensors[safetensors->count++], entry, safetensors->file.path, error)) {
            return false;
        }
    }
    return true;
}

static bool read_header(struct safetensors *safetensors, struct gpt2_error *error) {
    const struct gpt2_file *file = &safetensors->file;
    if (file->size < LENGTH_BYTES) {
        return gpt2_fail(error, "%s: %zu bytes are not a safetensors file", file->path, file->size);
    }
    uint64_t length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) { length = length << 8 | file->bytes[i]; }
    if (length > file->size - LENGTH_BYTES) {
        return gpt2_fail(error, "%s: a header of %llu bytes does not fit into this file of %zu: truncated, or none",
                         file->path, (unsigned long long)length, file->size);
    }
    if (length > SAFETENSORS_MOST_HEADER) {
        return gpt2_fail(error, "%s: a header of %llu bytes: at most 16 MiB are read", file->path,
                         (unsigned long long)length);
    }
    safetensors->header = gpt2_json_parse(file->bytes + LENGTH_BYTES, length, file->path, error);
    if (!safetensors->header || !read_entries(safetensors, error)) { return false; }
    qsort(safetensors->tensors, (size_t)safetensors->count, sizeof *safetensors->tensors, by_place);
    return check_places(safetensors, file->bytes + LENGTH_BYTES + length, file->size - LENGTH_BYTES - length, error);
}

bool safetensors_open(struct safetensors *safetensors, const char *path, struct gpt2_error *error) {
    *safetensors = (struct safetensors){0};
    if (gpt2_file_open(&safetensors->file, path, error) && read_header(safetensors, error)) { return true; }
    safetensors_close(safetensors);
    return false;
}

void safetensors_close(struct safetensors *safetensors) {
    free(safetensors->tensors);
    cJSON_Delete(safetensors->header);
    gpt2_file_close(&safetensors->file);
    *safetensors = (struct safetensors){0};
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *safetensors, const char *name) {
    for (int i = 0; i < safetensors->count; i++) {
        if (strcmp(safetensors->tensors[i].name, name) == 0) { return &safetensors->tensors[i]; }
    }
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *safetensors, const char *key) {
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(safetensors->header, "__metadata__");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, key));
}

/* ---- writing ---- */

static bool add_tensor(cJSON *header, const struct safetensors_tensor *tensor) {
    cJSON *entry = cJSON_AddObjectToObject(header, tensor->name);
    cJSON *type = cJSON_AddStringToObject(entry, "dtype", tensor->type);
    cJSON *shape = cJSON_AddArrayToObject(entry, "shape"), *offsets = cJSON_AddArrayToObject(entry, "data_offsets");
    bool ok = type && shape && offsets;
    for (int i = 0; ok && i < tensor->dimensions; i++) {
        ok = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)tensor->shape[i]));
    }
    return ok && cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)tensor->begin)) &&
           cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)tensor->end));
}

static char *print_header(const struct safetensors_tensor *tensors, int count, const char *const *metadata) {
    cJSON *header = cJSON_CreateObject();
    bool ok = header != NULL;
    if (ok && metadata) {
        cJSON *entry = cJSON_AddObjectToObject(header, "__metadata__");
        for (; ok && *metadata; metadata += 2) {
            ok = cJSON_AddStringToObject(entry, metadata[0], metadata[1]) != NULL;
        }
    }
    for (int i = 0; ok && i < count; i++) { ok = add_tensor(header, &tensors[i]); }
    char *text = ok ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

static bool place(struct safetensors_tensor *tensors, int count, const char *path, struct gpt2_error *error) {
    uint64_t end = 0;
    for (int i = 0; i < count; i++) {
        uint64_t bytes = safetensors_type_bytes(tensors[i].type);
        if (bytes == 0) { return gpt2_fail(error, "%s: unknown type %.20s", path, tensors[i].type); }
        for (int d = 0; d < tensors[i].dimensions; d++) { bytes *= (uint64_t)tensors[i].shape[d]; }
        tensors[i].begin = end;
        tensors[i].end = end += bytes;
    }
    return true;
}

bool safetensors_begin(struct gpt2_output *output, const char *path, struct safetensors_tensor *tensors, int count,
                       const char *const *metadata, struct gpt2_error *error) {
    *output = (struct gpt2_output){0};
    if (!place(tensors, count, path, error)) { return false; }
    char *text = print_header(tensors, count, metadata);
    if (!text) { return gpt2_fail(error, "%s: out of memory", path); }
    size_t length = strlen(text), padded = (length + 7) / 8 * 8; /* padded with spaces, so that the data is aligned */
    uint8_t start[8];
    for (int i = 0; i < 8; i++) { start[i] = (uint8_t)((uint64_t)padded >> 8 * i); }
    bool ok = gpt2_output_begin(output, path, error) && gpt2_output_write(output, start, sizeof start, error) &&
              gpt2_output_write(output, text, length, error) &&
              gpt2_output_write(output, "        ", padded - length, error);
    cJSON_free(text);
    return ok;
}

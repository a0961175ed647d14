#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/json.h"
#include "gpt2/formats/safetensors.h"

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
    size_t length = strlen(text), padded = (length + 7) / 8 * 8; /* spaces, so that the data is aligned */
    uint8_t start[8];
    for (int i = 0; i < 8; i++) { start[i] = (uint8_t)((uint64_t)padded >> 8 * i); }
    bool ok = gpt2_output_begin(output, path, error) && gpt2_output_write(output, start, sizeof start, error) &&
              gpt2_output_write(output, text, length, error) &&
              gpt2_output_write(output, "        ", padded - length, error);
    cJSON_free(text);
    return ok;
}

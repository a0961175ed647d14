/* damage.h — for the tests: a folder's model written again, with one change. */
#ifndef GPT2_FORMATS_TESTS_DAMAGE_H
#define GPT2_FORMATS_TESTS_DAMAGE_H

#include "gpt2/formats/safetensors.h"
#include "gpt2/tests/scratch.h"

/* Of the folder hf: a tensor with another type or name (type, rename; NULL: as it is), without it (rename ""), or with another
 * fourth byte (negative: as it is). */
static inline void damage(const char *tensor, const char *type, const char *rename, int byte) {
    struct safetensors old;
    struct gpt2_output output;
    static struct safetensors_tensor tensors[80];
    int count = 0;
    cr_assert(safetensors_open(&old, at("hf/model.safetensors"), &error), "%s", error.text);
    for (int i = 0; i < old.count; i++) {
        tensors[count] = old.tensors[i];
        if (strcmp(tensors[count].name, tensor) == 0) {
            if (rename != NULL && rename[0] == '\0') { continue; }
            if (type != NULL) { tensors[count].type = type; }
            if (rename != NULL) { tensors[count].name = rename; }
        }
        count++;
    }
    cr_assert(safetensors_begin(&output, at("hf/model.safetensors"), tensors, count, NULL, &error), "%s", error.text);
    for (int i = 0; i < count; i++) {
        const size_t size = tensors[i].end - tensors[i].begin;
        uint8_t *bytes = malloc(size);
        memcpy(bytes, tensors[i].bytes, size);
        if (byte >= 0 && strcmp(tensors[i].name, tensor) == 0) { bytes[3] = (uint8_t)byte; }
        cr_assert(gpt2_output_write(&output, bytes, size, &error));
        free(bytes);
    }
    cr_assert(gpt2_output_commit(&output, &error), "%s", error.text);
    safetensors_close(&old);
}

#endif

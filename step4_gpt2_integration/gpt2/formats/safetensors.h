/* safetensors.h — named arrays in one file, of any model: reading and writing the container.
 *
 *     u64 N | N bytes of JSON | data
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
 *
 * Little-endian; offsets count from the end of the JSON. What the tensors mean is hf.h's concern.
 */
#ifndef GPT2_SAFETENSORS_H
#define GPT2_SAFETENSORS_H

#include <cjson/cJSON.h>

#include "gpt2/file.h"

enum { SAFETENSORS_MOST_DIMENSIONS = 8, SAFETENSORS_MOST_HEADER = 16 << 20 };

struct safetensors_tensor {
    const char *name;
    const char *type; /* "F32", "F16", "BF16", "I64", ...: one that safetensors_type_bytes() knows */
    int dimensions;
    int64_t shape[SAFETENSORS_MOST_DIMENSIONS];
    uint64_t begin, end; /* bytes; from the start of the data */
    const void *bytes;   /* into the file when reading; may be unaligned; unused when writing */
};

/* Bytes of one element; 0 for a type that the format does not have. */
size_t safetensors_type_bytes(const char *type);

/* ---- reading ---- */

struct safetensors {
    struct safetensors_tensor *tensors; /* (count), in the order of their bytes */
    int count;
    struct gpt2_file file;
    cJSON *header;
};

/* Map and check the file. Refused: a header that is longer than the file or than 16 MiB, or no valid JSON; an unknown type;
 * a shape and offsets that disagree; offsets that overlap, leave a hole or do not end where the file does; two tensors of
 * one name; metadata that is no text. */
bool safetensors_open(struct safetensors *safetensors, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void safetensors_close(struct safetensors *safetensors);

/* NULL when there is none. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *safetensors, const char *name);
const char *safetensors_metadata(const struct safetensors *safetensors, const char *key);

/* ---- writing ---- */

/* The header first, from names, types and shapes; begin and end are filled in. metadata: key, text, key, text, ..., NULL; or
 * NULL. Then the bytes of each tensor are appended with gpt2_output_write, in this order; then gpt2_output_commit. */
bool safetensors_begin(struct gpt2_output *output, const char *path, struct safetensors_tensor *tensors, int count,
                       const char *const *metadata, struct gpt2_error *error);

#endif

/* safetensors.h — the safetensors container: named arrays in one file, read and written.
 *
 *     u64 N | N bytes of JSON | data
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
 *
 * Little-endian; offsets count from the end of the JSON. hf.h defines the tensors of a GPT-2.
 */
#ifndef GPT2_SAFETENSORS_H
#define GPT2_SAFETENSORS_H

#include <cjson/cJSON.h>

#include "gpt2/file.h"

enum { SAFETENSORS_MOST_DIMENSIONS = 8, SAFETENSORS_MOST_HEADER = 16 << 20 };

struct safetensors_tensor {
    const char *name;
    const char *type; /* "F32", "F16", "BF16", "I64", ...: see safetensors_type_bytes() */
    int dimensions;
    int64_t shape[SAFETENSORS_MOST_DIMENSIONS];
    uint64_t begin, end; /* bytes; from the start of the data */
    const void *bytes;   /* reading: into the file, possibly unaligned; writing: unused */
};

/* The bytes of one element; 0 for an unknown type. */
size_t safetensors_type_bytes(const char *type);

/* ---- reading ---- */

struct safetensors {
    struct safetensors_tensor *tensors; /* (count), in the order of their bytes */
    int count;
    struct gpt2_file file;
    cJSON *header;
};

/* Maps and checks the file. Refused: a header that is longer than the file or than 16 MiB, or invalid JSON; an unknown type; a
 * shape and offsets that disagree; offsets with overlaps or gaps, or that do not end at the end of the file; two tensors of one
 * name; metadata that is no text. */
bool safetensors_open(struct safetensors *safetensors, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void safetensors_close(struct safetensors *safetensors);

/* NULL: there is none. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *safetensors, const char *name);
const char *safetensors_metadata(const struct safetensors *safetensors, const char *key);

/* ---- writing ---- */

/* Writes the header from names, types and shapes, and fills in begin and end. metadata: key, text, key, text, ..., NULL; or
 * NULL. The caller then appends the bytes of each tensor in this order with gpt2_output_write, and calls gpt2_output_commit. */
bool safetensors_begin(struct gpt2_output *output, const char *path, struct safetensors_tensor *tensors, int count,
                       const char *const *metadata, struct gpt2_error *error);

#endif

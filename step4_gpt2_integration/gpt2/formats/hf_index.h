/* hf_index.h — model.safetensors.index.json: which file holds which tensor of a model in several files.
 *
 *     {"metadata": {"total_size": 512}, "weight_map": {"wte.weight": "model-00001-of-00002.safetensors", ...}}
 */
#ifndef GPT2_HF_INDEX_H
#define GPT2_HF_INDEX_H

#include <cjson/cJSON.h>

#include "gpt2/error.h"

struct hf_index {
    cJSON *root;
    const cJSON **entries; /* (count), sorted by the names of the tensors; their values are the names of the files */
    int count;
    const char **files; /* (file_count), sorted, each once */
    int file_count;
};

/* Refused: a file that is no index; a tensor that is there twice; a name that is not that of a file in the same folder; more than
 * HF_INDEX_MOST_FILES files. */
enum { HF_INDEX_MOST_FILES = 1024 };
bool hf_index_open(struct hf_index *index, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void hf_index_close(struct hf_index *index);

/* The name of the file with this tensor; NULL: the index does not name the tensor. */
const char *hf_index_find(const struct hf_index *index, const char *tensor);

#endif

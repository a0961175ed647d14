/* tensors.c — the names and shapes of weights.h, as a table. */
#include <stdio.h>
#include <string.h>

#include "gpt2/formats/weights.h"

enum size { ONE, C, THREE_C, FOUR_C, V, T, HEAD };

static const struct {
    const char *name; /* after "h.{i}." for a tensor of a layer */
    bool layered;
    enum size rows, columns;
} tensors[GPT2_TENSORS] = {
    [GPT2_WTE] = {"wte.weight", false, V, C},
    [GPT2_WPE] = {"wpe.weight", false, T, C},
    [GPT2_LN1W] = {"ln_1.weight", true, C, ONE},
    [GPT2_LN1B] = {"ln_1.bias", true, C, ONE},
    [GPT2_QKVW] = {"attn.c_attn.weight", true, THREE_C, C},
    [GPT2_QKVB] = {"attn.c_attn.bias", true, THREE_C, ONE},
    [GPT2_ATTPROJW] = {"attn.c_proj.weight", true, C, C},
    [GPT2_ATTPROJB] = {"attn.c_proj.bias", true, C, ONE},
    [GPT2_LN2W] = {"ln_2.weight", true, C, ONE},
    [GPT2_LN2B] = {"ln_2.bias", true, C, ONE},
    [GPT2_FCW] = {"mlp.c_fc.weight", true, FOUR_C, C},
    [GPT2_FCB] = {"mlp.c_fc.bias", true, FOUR_C, ONE},
    [GPT2_FCPROJW] = {"mlp.c_proj.weight", true, C, FOUR_C},
    [GPT2_FCPROJB] = {"mlp.c_proj.bias", true, C, ONE},
    [GPT2_LNFW] = {"ln_f.weight", false, C, ONE},
    [GPT2_LNFB] = {"ln_f.bias", false, C, ONE},
    [GPT2_HEAD] = {"lm_head.weight", false, HEAD, C},
};

bool gpt2_tensor_is_layered(enum gpt2_tensor tensor) {
    return tensors[tensor].layered;
}

int gpt2_tensor_layers(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    if (tensor == GPT2_HEAD && !config->untied) { return 0; }
    return tensors[tensor].layered ? config->layers : 1;
}

bool gpt2_tensor_is_linear(enum gpt2_tensor tensor) {
    return tensors[tensor].layered && tensors[tensor].columns != ONE;
}

int gpt2_tensor_product(enum gpt2_tensor tensor) {
    int before = 0;
    for (int i = 0; i < (int)tensor; i++) { before += gpt2_tensor_is_linear((enum gpt2_tensor)i); }
    return gpt2_tensor_is_linear(tensor) ? before : -1;
}

int gpt2_tensor_dimensions(enum gpt2_tensor tensor) {
    return tensors[tensor].columns == ONE ? 1 : 2;
}

static int64_t value(const struct gpt2_config *config, enum size size) {
    switch (size) {
        case ONE: return 1;
        case C: return config->channels;
        case THREE_C: return 3 * (int64_t)config->channels;
        case FOUR_C: return 4 * (int64_t)config->channels;
        case V: return config->vocabulary;
        case T: return config->max_tokens;
        case HEAD: return config->untied ? config->vocabulary : 0;
    }
    return 0;
}

int64_t gpt2_tensor_rows(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    return value(config, tensors[tensor].rows);
}

int64_t gpt2_tensor_columns(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    return value(config, tensors[tensor].columns);
}

int64_t gpt2_tensor_elements(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    return gpt2_tensor_rows(config, tensor) * gpt2_tensor_columns(config, tensor);
}

void gpt2_tensor_name(enum gpt2_tensor tensor, int layer, char *name) {
    if (tensors[tensor].layered) {
        snprintf(name, GPT2_NAME_BYTES, "h.%d.%s", layer, tensors[tensor].name);
    } else {
        snprintf(name, GPT2_NAME_BYTES, "%s", tensors[tensor].name);
    }
}

/* Parses "h.12." at the start of `name`: the number, and the rest. False unless the number is in plain decimal form. */
static bool read_layer(const char **name, int *layer) {
    int length = 0;
    if (sscanf(*name, "h.%9d.%n", layer, &length) != 1 || length == 0 || *layer < 0) { return false; }
    char plain[16];
    int expected = snprintf(plain, sizeof plain, "h.%d.", *layer);
    if (expected != length || memcmp(plain, *name, (size_t)length) != 0) { return false; }
    *name += length;
    return true;
}

bool gpt2_tensor_find(const char *name, enum gpt2_tensor *tensor, int *layer) {
    *layer = 0;
    bool layered = read_layer(&name, layer);
    for (int i = 0; i < GPT2_TENSORS; i++) {
        if (tensors[i].layered == layered && strcmp(tensors[i].name, name) == 0) {
            *tensor = (enum gpt2_tensor)i;
            return true;
        }
    }
    return false;
}

/* types.c — the types that a model can run in, by name. */
#include <string.h>

#include "program.h"

const struct type_name *type_named(const char *name) {
    static const struct type_name types[] = {
        {"f32", GPT2_F32, false}, {"tf32", GPT2_F32, true}, {"f16", GPT2_F16, false}, {"bf16", GPT2_BF16, false}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, types[i].name) == 0) { return &types[i]; }
    }
    return NULL;
}

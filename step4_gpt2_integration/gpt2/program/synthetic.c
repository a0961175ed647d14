/* synthetic.c — see synthetic.h. */
#include "synthetic.h"

#include <stdlib.h>

bool synthetic_open(struct synthetic *synthetic, const struct gpt2_config *config, uint64_t seed,
                    struct gpt2_error *error) {
    int64_t largest = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        int64_t elements = gpt2_tensor_elements(config, (enum gpt2_tensor)i);
        largest = elements > largest ? elements : largest;
    }
    *synthetic = (struct synthetic){.config = *config, .seed = seed};
    synthetic->room = malloc((size_t)largest * sizeof *synthetic->room);
    return synthetic->room != NULL || gpt2_fail(error, "out of memory for a tensor of synthetic weights");
}

void synthetic_close(struct synthetic *synthetic) {
    free(synthetic->room);
    *synthetic = (struct synthetic){.room = NULL};
}

static void spread_of(enum gpt2_tensor tensor, float *centre, float *spread) {
    bool layernorm = tensor == GPT2_LN1W || tensor == GPT2_LN2W || tensor == GPT2_LNFW;
    *centre = layernorm ? 1.0f : 0.0f;
    *spread = layernorm ? 0.3f : gpt2_tensor_dimensions(tensor) == 1 ? 0.1f : 0.035f; /* 0.02 sqrt(3) */
}

static bool read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                 void *out, struct gpt2_error *error) {
    struct synthetic *synthetic = context;
    const int64_t count = gpt2_tensor_elements(&synthetic->config, tensor);
    uint64_t start = gpt2_mix(synthetic->seed ^ (uint64_t)tensor << 56 ^ (uint64_t)layer << 40), bits = 0;
    float centre, spread;
    (void)layout, (void)error; /* the layout of random numbers does not matter */
    spread_of(tensor, &centre, &spread);
    for (int64_t i = 0; i < count; i++) {
        bits = i % 4 == 0 ? gpt2_mix(start + (uint64_t)i) : bits >> 16; /* four values of 16 bits from each number */
        synthetic->room[i] = centre + spread * ((float)(int16_t)(bits & 0xffff) / 32768.0f);
    }
    gpt2_convert(out, type, synthetic->room, GPT2_F32, (size_t)count);
    return true;
}

struct gpt2_source synthetic_source(struct synthetic *synthetic) {
    return (struct gpt2_source){.config = synthetic->config, .read = read, .context = synthetic};
}

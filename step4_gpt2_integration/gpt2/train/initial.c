#include "gpt2/train/initial.h"

#include <math.h>
#include <stdlib.h>

/* The i-th number of a stream, N(0, 1) in multiples of 2^-16. */
static float normal(uint64_t stream, uint64_t i) {
    int sum = 0; /* of 12 numbers in 0..65535 */
    for (uint64_t word = 0; word < 3; word++) {
        uint64_t bits = gpt2_mix(stream ^ gpt2_mix(3 * i + word));
        for (int part = 0; part < 4; part++) { sum += (int)(bits >> 16 * part & 0xffff); }
    }
    return (float)(sum - 12 * 65535 / 2) * 0x1p-16f;
}

static float deviation(const struct gpt2_config *config, enum gpt2_tensor tensor) {
    switch (tensor) {
        case GPT2_WTE:
        case GPT2_WPE:
        case GPT2_QKVW:
        case GPT2_FCW: return 0.02f;
        case GPT2_ATTPROJW:
        case GPT2_FCPROJW: return 0.02f / sqrtf(2.0f * (float)config->layers);
        default: return 0.0f;
    }
}

static bool read_tensor(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                        void *out, struct gpt2_error *error) {
    const struct gpt2_initial *initial = context;
    struct gpt2_view view = {.type = GPT2_F32, .layout = GPT2_OUT_IN};
    view.rows = gpt2_tensor_rows(&initial->config, tensor);
    view.columns = gpt2_tensor_columns(&initial->config, tensor);
    int64_t count = view.rows * view.columns;
    float *values = malloc((size_t)count * sizeof *values), scale = deviation(&initial->config, tensor);
    if (values == NULL) { return gpt2_fail(error, "out of memory for the initial weights"); }
    bool ones = tensor == GPT2_LN1W || tensor == GPT2_LN2W || tensor == GPT2_LNFW;
    uint64_t stream = gpt2_mix(gpt2_mix(initial->seed) ^ ((uint64_t)tensor << 32 | (uint64_t)layer));
    for (int64_t i = 0; i < count; i++) {
        values[i] = scale > 0.0f ? scale * normal(stream, (uint64_t)i) : ones ? 1.0f : 0.0f;
    }
    view.bytes = values;
    gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out);
    free(values);
    return true;
}

struct gpt2_source gpt2_initial_source(struct gpt2_initial *initial) {
    return (struct gpt2_source){.config = initial->config, .read = read_tensor, .context = initial};
}

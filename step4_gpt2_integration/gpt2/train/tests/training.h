/* training.h — for the tests: kernel sets, and the tiny models' gradients on the device and in float64. */
#ifndef GPT2_TRAIN_TESTS_TRAINING_H
#define GPT2_TRAIN_TESTS_TRAINING_H

#include "gpt2/model/tests/kernel_sets.h"
#include "gpt2/model/tests/tiny.h"
#include "gpt2/reference.h"
#include "gpt2/train/trainer.h"

static inline void close_trainer(struct gpt2_trainer *trainer) {
    gpt2_trainer_close(trainer);
    close_kernels();
}

/* The tiny model as bf16 has it. */
static inline bool rounded_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                                enum gpt2_layout layout, void *out, struct gpt2_error *problem) {
    const struct gpt2_config *config = context;
    size_t count = (size_t)gpt2_tensor_elements(config, tensor);
    uint16_t *rounded = malloc(count * sizeof *rounded);
    bool good = tiny_read(context, tensor, layer, GPT2_BF16, layout, rounded, problem);
    gpt2_convert(out, type, rounded, GPT2_BF16, count);
    free(rounded);
    return good;
}

static inline struct gpt2_source source_of(const struct gpt2_config *config, enum gpt2_type type) {
    struct gpt2_source source = tiny_source(config);
    if (type == GPT2_BF16) { source.read = rounded_read; }
    return source;
}

/* All tensors of a part, one after the other, in the order of weights.h and of the layers. The caller frees it. */
static inline float *part_of(struct gpt2_trainer *trainer, enum gpt2_part part, int64_t *total) {
    struct gpt2_source source = gpt2_trainer_source(trainer, part);
    float *values = malloc((size_t)gpt2_config_weights(&source.config, source.config.vocabulary) * sizeof *values);
    *total = 0;
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        for (int layer = 0; layer < gpt2_tensor_layers(&source.config, t); layer++) {
            cr_assert(source.read(source.context, t, layer, GPT2_F32, GPT2_OUT_IN, values + *total, &error), "%s",
                      error.text);
            *total += gpt2_tensor_elements(&source.config, t);
        }
    }
    return values;
}

#endif

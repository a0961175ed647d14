/* model_test.h — calls of a whole model's ops, for the tests that compare them with the reference in gpt2/. */
#ifndef MODEL_TEST_H
#define MODEL_TEST_H

#include "common/ops/op_test.h"
#include "gpt2/formats/weights.h"

static inline struct op_sizes model_sizes(int B, int T, int S, int L) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, B, T, 2, 6, S);
    sizes.L = L;
    sizes.V = 19;
    return sizes;
}

/* A gpt2_source's read: the call's own weights. `context` is the struct computed. */
static inline bool read_packed(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                               enum gpt2_layout layout, void *to, struct gpt2_error *error) {
    const struct computed *c = context;
    struct gpt2_config config = {c->sizes.S, c->sizes.V, c->sizes.V, c->sizes.L, c->sizes.H, c->sizes.C, c->sizes.eps};
    const float *from = input(c, "weights");
    (void)type, (void)layout, (void)error;
    for (int i = 0; i < (int)tensor; i++) {
        int layers = gpt2_tensor_is_layered((enum gpt2_tensor)i) ? config.layers : 1;
        from += layers * gpt2_tensor_elements(&config, (enum gpt2_tensor)i);
    }
    size_t count = (size_t)gpt2_tensor_elements(&config, tensor);
    memcpy(to, from + (size_t)layer * count, count * sizeof(float));
    return true;
}

#endif

/* mistakes_wiring.c — lab 4's ops with one well-known mistake: common/wiring.c computes them, this names them by op. */
#include <stdlib.h>
#include <string.h>

#include "common/wiring.h"
#include "mistakes.h"

#define MISTAKE(name, op)                                                                                             \
    void mistake_##name(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) { \
        wiring_compute(op_find(op), sizes, given, (enum wiring_mistake)variant, out, NULL);                           \
    }
MISTAKE(attention, "attention_forward")
MISTAKE(decode_attention, "decode_attention")
MISTAKE(gpt2_forward, "gpt2_forward")
MISTAKE(gpt2_decode, "gpt2_decode")

static void copy(const struct op *op, const struct op_sizes *sizes, const char *name, const float *const given[],
                 double *const out[]) {
    int t = op_tensor_find(op, name);
    for (size_t i = 0; i < op_elements(op, t, sizes); i++) { out[t][i] = given[t][i]; }
}

/* A block's neighbours have parameters of zeros, and caches that are no outputs: gpt2/lab/launch_block.cu. */
void mistake_block(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    const struct op *op = op_find("block_forward");
    const float *tensors[OP_MAX_TENSORS];
    float *zeros = calloc(4 * (size_t)sizes->C * (size_t)sizes->C, sizeof *zeros);
    if (!zeros) { abort(); }
    memcpy(tensors, given, sizeof tensors);
    int first = op_tensor_find(op, "ln1_weight");
    bool other = sizes->L > 0, weights = other && variant == WIRING_WEIGHTS_OF_LAYER_0;
    for (int i = 0; weights && i < WIRING_BLOCK_TENSORS; i++) { tensors[first + i] = zeros; }
    wiring_compute(op, sizes, tensors, (enum wiring_mistake)variant, out, NULL);
    if (other && variant == WIRING_CACHE_OF_LAYER_0) {
        copy(op, sizes, "k", given, out);
        copy(op, sizes, "v", given, out);
    }
    free(zeros);
}

void mistake_block_backward(int variant, const struct op_sizes *sizes, const float *const given[],
                            double *const out[]) {
    wiring_compute_backward(op_find("block_backward"), sizes, given, (enum wiring_mistake)variant, out, NULL);
}

/* mistakes_wiring.c — lab 4's ops with one well-known mistake: common/wiring.c computes them, this names them by op. */
#include "common/wiring.h"
#include "mistakes.h"

#define MISTAKE(name, op)                                                                                             \
    void mistake_##name(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) { \
        wiring_compute(op_find(op), sizes, given, (enum wiring_mistake)variant, out, NULL);                           \
    }
MISTAKE(attention, "attention_forward")
MISTAKE(decode_attention, "decode_attention")
MISTAKE(block, "block_forward")
MISTAKE(gpt2_forward, "gpt2_forward")
MISTAKE(gpt2_decode, "gpt2_decode")

void mistake_block_backward(int variant, const struct op_sizes *sizes, const float *const given[],
                            double *const out[]) {
    wiring_compute_backward(op_find("block_backward"), sizes, given, (enum wiring_mistake)variant, out, NULL);
}

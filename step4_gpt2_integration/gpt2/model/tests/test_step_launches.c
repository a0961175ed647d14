/* How many kernels a decoding step launches: counted by the checked build of the CPU backend. */
#define _GNU_SOURCE
#include "gpt2/kernels/table.h"
#include "simt.h"
#include "tiny.h"

static uint64_t launches_of_a_step(enum gpt2_form form, int B) {
    static const struct gpt2_config config = {.max_tokens = 40,
                                              .vocabulary = 64,
                                              .padded_vocabulary = 67,
                                              .layers = 2,
                                              .heads = 2,
                                              .channels = 256,
                                              .epsilon = 1e-5f};
    struct gpt2_error error;
    int32_t tokens[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, lengths[9];
    struct simt_counters counters;
    for (int b = 0; b < B; b++) { lengths[b] = 1; }
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_model_options options = {.type = GPT2_F32,
                                         .attention = form,
                                         .decode = form,
                                         .batch = B,
                                         .prompt = config.max_tokens,
                                         .kernels = &gpt2_kernel_set};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    cr_assert(gpt2_prefill(model, tokens, lengths, B, 1, &error), "%s", error.text);
    simt_counters_reset();
    cr_assert(gpt2_decode(model, tokens, &error) && gpt2_wait(model, &error), "%s", error.text);
    simt_counters_get(&counters);
    gpt2_model_close(model);
    return counters.launches;
}

/* Two layers; products by cuBLAS are not counted. Five a block, the embedding and the logits. */
Test(step_launches, a_fused_step_has_five_launches_a_block) {
    cr_assert_eq(launches_of_a_step(GPT2_FUSED, 1), 5u * 2 + 2);
    cr_assert_eq(launches_of_a_step(GPT2_FUSED, 8), 5u * 2 + 2);
}

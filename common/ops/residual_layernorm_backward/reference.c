/* residual_layernorm_backward in float64: LayerNorm's gradients with dsum added; and the mistakes of dsum. */
#include "ops/elements.h"
#include "ops/layernorm_backward/layernorm_backward.h"

enum {
    NO_DSUM = 1,
    DSUM_ALONE,
    DSUM_SCALED,   /* by rstd */
    DOUT_ADDED,    /* dout instead of dsum */
    ROUNDED_FIRST, /* to T before dsum is added */
};

static void mistaken(const struct op_call *call, int variant) {
    const float *dsum = call_given(call, "dsum"), *dout = call_given(call, "dout"), *rstd = call_given(call, "rstd");
    double *dinp = call_expected(call, "dinp");
    size_t C = (size_t)call->sizes->C;
    layernorm_backward_mistaken(call, -1);
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i++) {
        double own = dinp[i] - dsum[i]; /* LayerNorm's */
        switch (variant) {
            case NO_DSUM: dinp[i] = own; break;
            case DSUM_ALONE: dinp[i] = dsum[i]; break;
            case DSUM_SCALED: dinp[i] = own + (double)rstd[i / C] * dsum[i]; break;
            case DOUT_ADDED: dinp[i] = own + dout[i]; break;
            default: dinp[i] = element_round(call->sizes->type, own) + dsum[i]; break;
        }
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "fused-backward-no-dsum",
     .cause = "dsum, the gradient that reaches sum along the residual stream, is not added",
     .hint = 2,
     .kernel = "residual_layernorm_backward/no_dsum",
     .compute = mistaken,
     .variant = {NO_DSUM}},
    {.id = "fused-backward-dsum-scaled",
     .cause = "dsum is multiplied by rstd: add it to LayerNorm's gradient unchanged",
     .hint = 3,
     .kernel = "residual_layernorm_backward/dsum_scaled",
     .compute = mistaken,
     .variant = {DSUM_SCALED}},
    {.id = "fused-backward-dsum-alone",
     .cause = "dinp holds only dsum: LayerNorm's gradient is missing",
     .hint = 2,
     .kernel = "residual_layernorm_backward/dsum_alone",
     .compute = mistaken,
     .variant = {DSUM_ALONE}},
    {.id = "fused-backward-dout-added",
     .cause = "dout is added instead of dsum",
     .hint = 3,
     .kernel = "residual_layernorm_backward/dout_added",
     .compute = mistaken,
     .variant = {DOUT_ADDED}},
    {.id = "rounded-before-dsum",
     .cause = "LayerNorm's gradient is rounded to 16 bits before dsum is added: round once, at the end",
     .hint = 2,
     .kernel = "residual_layernorm_backward/rounded_before_dsum",
     .compute = mistaken,
     .variant = {ROUNDED_FIRST}},
    {.id = NULL},
};

const struct op_reference op_reference_residual_layernorm_backward = {
    .compute = layernorm_backward_compute,
    .complete = layernorm_backward_complete,
    .mistakes = {mistakes, layernorm_backward_mistakes, layernorm_backward_mistakes_shown},
};

/* layernorm_residual_backward in float64: the residual's gradient is dout itself; the others are LayerNorm's. */
#include "ops/layernorm_backward/layernorm_backward.h"

const struct op_reference op_reference_layernorm_residual_backward = {
    .compute = layernorm_backward_compute,
    .complete = layernorm_backward_complete,
    .mistakes = {layernorm_backward_mistakes, layernorm_backward_mistakes_shown},
};

/* layernorm_residual_forward in float64: LayerNorm's reference adds the residual to out if the op has no sum. */
#include "ops/layernorm_forward/layernorm.h"

const struct op_reference op_reference_layernorm_residual_forward = {
    .compute = layernorm_compute,
    .mistakes = {layernorm_mistakes, layernorm_mistakes_shown},
};

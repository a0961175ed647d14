#include "mistakes.h"

#include "common/wiring.h"

#define SOFTMAX(id, variant) \
    { id, "softmax_forward", mistake_softmax, variant }
#define LAYERNORM(id, variant) \
    { id, "layernorm_forward", mistake_layernorm, variant }
#define BACKWARD(id, variant) \
    { id, "layernorm_backward", mistake_backward, variant }
#define CAUSAL(id, variant) \
    { id, "causal_softmax_forward", mistake_causal, variant }
#define CAUSAL_BACKWARD(id, variant) \
    { id, "causal_softmax_backward", mistake_causal_backward, variant }
#define FUSED(id, variant) \
    { id, "residual_layernorm_forward", mistake_fused, variant }
#define FUSED_BACKWARD(id, variant) \
    { id, "residual_layernorm_backward", mistake_fused_backward, variant }
/* The LayerNorm of the two ops alike. */
#define LAYERNORMS(id, variant) LAYERNORM(id, variant), FUSED(id, variant)
#define BACKWARDS(id, variant)  BACKWARD(id, variant), FUSED_BACKWARD(id, variant)
#define CAUSALS(id, variant)    CAUSAL(id, variant), CAUSAL_BACKWARD(id, variant)

/* Of a model: what is wrong in a part shows in whatever it is a part of. */
#define ATTENTION(id, variant)                               \
    {id, "attention_forward", mistake_attention, variant}, { \
        id, "block_forward", mistake_block, variant          \
    }
#define DECODE(id, variant)                                        \
    {id, "decode_attention", mistake_decode_attention, variant}, { \
        id, "gpt2_decode", mistake_gpt2_decode, variant            \
    }
#define BLOCK(id, variant)                                \
    {id, "block_forward", mistake_block, variant}, {      \
        id, "gpt2_forward", mistake_gpt2_forward, variant \
    }
#define MODEL(id, variant)                                 \
    {id, "gpt2_forward", mistake_gpt2_forward, variant}, { \
        id, "gpt2_decode", mistake_gpt2_decode, variant    \
    }

const struct mistake mistakes[] = {
    SOFTMAX("softmax-no-max", SOFTMAX_NO_MAX),
    SOFTMAX("softmax-max-starts-at-zero", SOFTMAX_MAX_STARTS_AT_ZERO),
    SOFTMAX("softmax-max-starts-at-zero", SOFTMAX_MAX_STARTS_AT_FLT_MIN),
    SOFTMAX("softmax-not-normalised", SOFTMAX_NOT_NORMALISED),
    SOFTMAX("softmax-sum-not-reset", SOFTMAX_SUM_NOT_RESET),
    SOFTMAX("softmax-not-normalised", SOFTMAX_DIVIDED_BY_C),
    SOFTMAX("softmax-base-2", SOFTMAX_BASE_2),
    SOFTMAX("softmax-sign", SOFTMAX_SIGN),
    SOFTMAX("transposed-index", SOFTMAX_TRANSPOSED),
    SOFTMAX("softmax-wrong-axis", SOFTMAX_WRONG_AXIS),
    SOFTMAX("softmax-whole-tensor", SOFTMAX_WHOLE_TENSOR),
    SOFTMAX("softmax-padding-counted", SOFTMAX_PADDING_WARP),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE + 5),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE + 7),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE + 8),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE_IN_LANE + 5),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE_IN_LANE + 7),
    SOFTMAX("softmax-no-rescale", SOFTMAX_NO_RESCALE_IN_LANE + 8),
    SOFTMAX("other-warps-lost", SOFTMAX_FIRST_WARP + 6),
    SOFTMAX("other-warps-lost", SOFTMAX_FIRST_WARP + 7),
    SOFTMAX("other-warps-lost", SOFTMAX_FIRST_WARP + 8),
    SOFTMAX("other-warps-lost", SOFTMAX_FIRST_WARP + 9),
    SOFTMAX("other-warps-lost", SOFTMAX_FIRST_WARP + 10),
    SOFTMAX("other-warps-lost", SOFTMAX_OWN_WARP + 6),
    SOFTMAX("other-warps-lost", SOFTMAX_OWN_WARP + 7),
    SOFTMAX("other-warps-lost", SOFTMAX_OWN_WARP + 8),
    SOFTMAX("other-warps-lost", SOFTMAX_OWN_WARP + 9),
    SOFTMAX("other-warps-lost", SOFTMAX_OWN_WARP + 10),

    LAYERNORMS("layernorm-unbiased", LAYERNORM_UNBIASED),
    LAYERNORMS("layernorm-no-eps", LAYERNORM_NO_EPS),
    LAYERNORMS("layernorm-eps-outside", LAYERNORM_EPS_AFTER_ROOT),
    LAYERNORMS("layernorm-eps-outside", LAYERNORM_EPS_AFTER_INVERSE),
    LAYERNORMS("layernorm-eps-ignored", LAYERNORM_EPS_IGNORED),
    LAYERNORMS("layernorm-rstd-is-variance", LAYERNORM_RSTD_IS_VARIANCE),
    LAYERNORMS("layernorm-rstd-is-deviation", LAYERNORM_RSTD_IS_DEVIATION),
    LAYERNORMS("layernorm-rstd-is-deviation", LAYERNORM_TIMES_DEVIATION),
    LAYERNORMS("layernorm-no-root", LAYERNORM_NO_ROOT),
    LAYERNORMS("layernorm-stats-swapped", LAYERNORM_STATS_SWAPPED),
    LAYERNORMS("layernorm-affine-swapped", LAYERNORM_AFFINE_SWAPPED),
    LAYERNORMS("layernorm-affine-by-row", LAYERNORM_AFFINE_BY_ROW),
    LAYERNORMS("layernorm-no-weight", LAYERNORM_NO_WEIGHT),
    LAYERNORMS("layernorm-no-bias", LAYERNORM_NO_BIAS),
    LAYERNORMS("layernorm-no-affine", LAYERNORM_NO_AFFINE),
    LAYERNORMS("layernorm-mean-not-subtracted", LAYERNORM_MEAN_NOT_SUBTRACTED),
    LAYERNORMS("layernorm-variance-not-centred", LAYERNORM_NOT_CENTRED),
    LAYERNORMS("layernorm-sum-not-divided", LAYERNORM_SUM_NOT_DIVIDED),
    LAYERNORMS("layernorm-sum-not-divided", LAYERNORM_SQUARES_NOT_DIVIDED),
    LAYERNORMS("layernorm-sum-not-reset", LAYERNORM_SUM_NOT_RESET),
    LAYERNORMS("layernorm-sum-not-reset", LAYERNORM_SQUARES_NOT_RESET),
    LAYERNORMS("layernorm-padding-counted", LAYERNORM_PADDING),
    LAYERNORMS("layernorm-divided-by-rows", LAYERNORM_MEAN_BY_ROWS),
    LAYERNORMS("layernorm-divided-by-rows", LAYERNORM_VARIANCE_BY_ROWS),
    LAYERNORMS("layernorm-integer-division", LAYERNORM_MEAN_IS_0),
    LAYERNORMS("layernorm-integer-division", LAYERNORM_VARIANCE_IS_0),
    LAYERNORMS("layernorm-bias-scaled", LAYERNORM_BIAS_SCALED),
    LAYERNORMS("other-warps-lost", LAYERNORM_FIRST_WARP + 6),
    LAYERNORMS("other-warps-lost", LAYERNORM_FIRST_WARP + 7),
    LAYERNORMS("other-warps-lost", LAYERNORM_FIRST_WARP + 8),
    LAYERNORMS("other-warps-lost", LAYERNORM_FIRST_WARP + 9),
    LAYERNORMS("other-warps-lost", LAYERNORM_FIRST_WARP + 10),
    LAYERNORMS("other-warps-lost", LAYERNORM_OWN_WARP + 7),
    LAYERNORMS("other-warps-lost", LAYERNORM_OWN_WARP + 8),
    LAYERNORMS("other-warps-lost", LAYERNORM_OWN_WARP + 9),
    LAYERNORMS("other-warps-lost", LAYERNORM_OWN_WARP + 10),

    BACKWARDS("backward-overwritten", BACKWARD_OVERWRITTEN),
    BACKWARDS("backward-no-mean-terms", BACKWARD_NO_MEAN_TERMS),
    BACKWARDS("backward-one-mean-term", BACKWARD_NO_FIRST_TERM),
    BACKWARDS("backward-one-mean-term", BACKWARD_NO_SECOND_TERM),
    BACKWARDS("backward-sums-for-means", BACKWARD_SUMS_FOR_MEANS),
    BACKWARDS("backward-no-weight", BACKWARD_NO_WEIGHT),
    BACKWARDS("backward-no-rstd", BACKWARD_NO_RSTD),
    BACKWARDS("backward-x-for-xhat", BACKWARD_X_FOR_XHAT),
    BACKWARDS("backward-gradients-swapped", BACKWARD_SWAPPED),
    BACKWARDS("backward-one-row", BACKWARD_FIRST_ROW),
    BACKWARDS("backward-one-row", BACKWARD_LAST_ROW),
    BACKWARDS("backward-weighted-dweight", BACKWARD_WEIGHTED_DWEIGHT),

    CAUSALS("causal-mask-strict", CAUSAL_STRICT),
    CAUSAL("causal-mask-one-more", CAUSAL_ONE_MORE),
    CAUSAL("causal-mask-by-vector", CAUSAL_BY_VECTOR + 1),
    CAUSAL("causal-mask-by-vector", CAUSAL_BY_VECTOR + 2),
    CAUSAL("causal-mask-by-vector", CAUSAL_BY_VECTOR + 3),
    CAUSAL("causal-mask-by-vector", CAUSAL_BY_VECTOR + 5),
    CAUSAL("causal-row-not-modulo", CAUSAL_ROW_NOT_MODULO),
    CAUSALS("causal-mask-transposed", CAUSAL_TRANSPOSED),
    CAUSAL("causal-no-mask", CAUSAL_NO_MASK),
    CAUSALS("causal-scale-missing", CAUSAL_NO_SCALE),
    CAUSALS("causal-scale-twice", CAUSAL_SCALE_TWICE),
    CAUSALS("causal-scale-divided", CAUSAL_SCALE_DIVIDED),
    CAUSAL("causal-mask-after-softmax", CAUSAL_MASK_AFTER),
    CAUSAL("causal-masked-as-zero", CAUSAL_MASKED_AS_ZERO),
    CAUSAL("causal-masked-as-zero", CAUSAL_MASKED_AS_ZERO_WRITTEN),
    CAUSAL("causal-max-of-masked", CAUSAL_MAX_OF_MASKED),
    CAUSAL("causal-max-unscaled", CAUSAL_MAX_UNSCALED),
    CAUSAL("causal-padding-counted", CAUSAL_PADDING + 2),
    CAUSAL("causal-padding-counted", CAUSAL_PADDING + 3),
    CAUSAL("softmax-no-max", CAUSAL_NO_MAX),
    CAUSAL("softmax-not-normalised", CAUSAL_NOT_NORMALISED),
    CAUSAL("causal-lengths-ignored", CAUSAL_NO_LENGTHS),
    CAUSAL("causal-empty-row-nan", CAUSAL_EMPTY_ROW_NAN),
    CAUSAL_BACKWARD("softmax-backward-no-sum", SOFTMAX_BACKWARD_NO_SUM),
    CAUSAL_BACKWARD("softmax-backward-sum-of-dout", SOFTMAX_BACKWARD_SUM_OF_DOUT),
    CAUSAL_BACKWARD("softmax-backward-no-out", SOFTMAX_BACKWARD_NO_OUT),
    CAUSAL_BACKWARD("softmax-backward-added", SOFTMAX_BACKWARD_ADDED),
    CAUSAL_BACKWARD("softmax-backward-diagonal", SOFTMAX_BACKWARD_SQUARED),

    FUSED("fused-no-residual", FUSED_NO_RESIDUAL),
    FUSED("fused-subtracted", FUSED_SUBTRACTED),
    FUSED("fused-normalises-x", FUSED_OF_X),
    FUSED("fused-other-order", FUSED_OTHER_ORDER),
    FUSED("fused-sum-is-out", FUSED_SUM_IS_OUT),
    FUSED("fused-sum-is-x", FUSED_SUM_IS_X),
    FUSED("fused-outputs-swapped", FUSED_SWAPPED),
    FUSED("fused-unrounded-sum", FUSED_UNROUNDED),
    FUSED("fused-unrounded-sum", FUSED_UNROUNDED_STATISTICS),
    FUSED("statistics-in-16-bits", FUSED_STATISTICS_IN_T),
    FUSED("statistics-in-16-bits", FUSED_STATISTICS_IN_T_USED),
    FUSED("rounded-before-gamma", FUSED_ROUNDED_BEFORE_GAMMA),
    FUSED("rounded-before-gamma", FUSED_ROUNDED_BEFORE_BETA),
    FUSED_BACKWARD("fused-backward-no-dsum", FUSED_BACKWARD_NO_DSUM),
    FUSED_BACKWARD("fused-backward-dsum-alone", FUSED_BACKWARD_DSUM_ALONE),
    FUSED_BACKWARD("fused-backward-dout-added", FUSED_BACKWARD_DOUT_ADDED),
    FUSED_BACKWARD("rounded-before-dsum", FUSED_BACKWARD_ROUNDED_FIRST),

    {"residual-one-operand", "residual_forward", mistake_small, RESIDUAL_FIRST_ONLY},
    {"residual-one-operand", "residual_forward", mistake_small, RESIDUAL_SECOND_ONLY},
    {"residual-subtracted", "residual_forward", mistake_small, RESIDUAL_SUBTRACTED},
    {"residual-multiplied", "residual_forward", mistake_small, RESIDUAL_MULTIPLIED},
    {"residual-added-twice", "residual_forward", mistake_small, RESIDUAL_TWICE},
    {"bias-by-row", "bias_add", mistake_small, BIAS_BY_ROW},
    {"bias-missing", "bias_add", mistake_small, BIAS_MISSING},
    {"sum-not-squared", "row_sum_squares", mistake_small, SUM_NOT_SQUARED},
    {"sum-not-weighted", "row_dot", mistake_small, SUM_NOT_WEIGHTED},

    ATTENTION("attention-scale-missing", WIRING_SCALE_MISSING),
    ATTENTION("attention-scale-twice", WIRING_SCALE_TWICE),
    ATTENTION("attention-scale-of-channels", WIRING_SCALE_OF_C),
    ATTENTION("attention-mask-strict", WIRING_MASK_STRICT),
    ATTENTION("attention-mask-one-more", WIRING_MASK_ONE_MORE),
    ATTENTION("attention-no-mask", WIRING_MASK_NONE),
    ATTENTION("attention-lengths-ignored", WIRING_LENGTHS_IGNORED),
    ATTENTION("attention-kv-swapped", WIRING_KV_SWAPPED),
    ATTENTION("attention-qk-swapped", WIRING_QK_SWAPPED),
    ATTENTION("attention-qk-swapped", WIRING_QK_EXCHANGED),
    ATTENTION("attention-qkv-by-head", WIRING_QKV_BY_HEAD),
    ATTENTION("attention-heads-not-merged", WIRING_HEADS_NOT_MERGED),
    ATTENTION("attention-heads-inside", WIRING_HEADS_INSIDE),
    ATTENTION("attention-weights-transposed", WIRING_WEIGHTS_TRANSPOSED),
    ATTENTION("attention-cache-stride", WIRING_CACHE_STRIDE),
    ATTENTION("cache-one-late", WIRING_CACHE_ONE_LATE),
    DECODE("attention-scale-missing", WIRING_SCALE_MISSING),
    DECODE("attention-scale-twice", WIRING_SCALE_TWICE),
    DECODE("attention-scale-of-channels", WIRING_SCALE_OF_C),
    DECODE("attention-kv-swapped", WIRING_KV_SWAPPED),
    DECODE("attention-qk-swapped", WIRING_QK_SWAPPED),
    DECODE("attention-qkv-by-head", WIRING_QKV_BY_HEAD),
    DECODE("decode-new-token-missing", WIRING_NEW_TOKEN_MISSING),
    DECODE("decode-one-key-more", WIRING_DECODE_ONE_MORE),
    DECODE("decode-position-ignored", WIRING_POSITION_IGNORED),
    DECODE("decode-position-of-first", WIRING_POSITION_OF_0),
    DECODE("cache-of-first-sequence", WIRING_CACHE_OF_0),
    DECODE("cache-one-late", WIRING_CACHE_ONE_LATE),
    DECODE("cache-one-early", WIRING_CACHE_ONE_EARLY),
    DECODE("cache-not-written", WIRING_CACHE_NOT_WRITTEN),
    DECODE("cache-not-written", WIRING_CACHE_USED_ONLY),
    BLOCK("block-parallel", WIRING_PARALLEL),
    BLOCK("block-branch-forgotten", WIRING_BRANCH_FORGOTTEN),
    BLOCK("block-attention-forgotten", WIRING_ATTENTION_FORGOTTEN),
    BLOCK("block-residual-not-written", WIRING_RESIDUAL_NOT_WRITTEN),
    BLOCK("block-ln1-missing", WIRING_LN1_MISSING),
    BLOCK("block-ln2-of-branch", WIRING_LN2_OF_BRANCH),
    BLOCK("block-layernorms-swapped", WIRING_LN_SWAPPED),
    BLOCK("block-residual-normalised", WIRING_RESIDUAL_NORMALISED),
    BLOCK("block-weight-transposed", WIRING_WEIGHT_TRANSPOSED),
    BLOCK("block-projection-missing", WIRING_PROJECTION_MISSING),
    BLOCK("block-qkv-bias-missing", WIRING_QKV_BIAS_MISSING),
    BLOCK("block-attention-bias-missing", WIRING_ATTENTION_BIAS_MISSING),
    BLOCK("block-fc-bias-missing", WIRING_FC_BIAS_MISSING),
    BLOCK("block-fc-bias-twice", WIRING_FC_BIAS_TWICE),
    BLOCK("block-mlp-bias-missing", WIRING_MLP_BIAS_MISSING),
    BLOCK("block-gelu-missing", WIRING_GELU_MISSING),
    BLOCK("block-gelu-erf", WIRING_GELU_ERF),
    BLOCK("block-branches-added", WIRING_BRANCHES_ADDED),
    MODEL("weights-of-layer-0", WIRING_WEIGHTS_OF_LAYER_0),
    {"cache-of-layer-0", "gpt2_decode", mistake_gpt2_decode, WIRING_CACHE_OF_LAYER_0}, /* a prompt reads no cache */
    {.id = 0},
};

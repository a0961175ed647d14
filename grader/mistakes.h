/* mistakes.h — the ops once more, each with one well-known mistake in it. A kernel whose outputs agree with one of these,
 * and not with the reference, most probably has that mistake. Where overflow is the mistake, it is computed in float.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include "common/ops.h"

struct mistake {
    const char *id; /* of the signature */
    const char *op;
    /* out[i]: what output i would hold. given[i]: what every tensor held before the call. */
    void (*compute)(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
    int variant;
};

/* Ended by one without id. One id may have several entries: variants of one mistake. */
extern const struct mistake mistakes[];

/* The parts that the table of mistakes.c is made of, each in a file of its own. */
void mistake_softmax(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_layernorm(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_backward(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_causal(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_causal_backward(int variant, const struct op_sizes *sizes, const float *const given[],
                             double *const out[]);
void mistake_fused(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_fused_backward(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_small(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
/* Variants are enum wiring_mistake of common/wiring.h. */
void mistake_attention(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_decode_attention(int variant, const struct op_sizes *sizes, const float *const given[],
                              double *const out[]);
void mistake_block(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_block_backward(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_gpt2_forward(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);
void mistake_gpt2_decode(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]);

enum softmax_mistake {
    SOFTMAX_NO_MAX,
    SOFTMAX_MAX_STARTS_AT_ZERO,
    SOFTMAX_MAX_STARTS_AT_FLT_MIN,
    SOFTMAX_NOT_NORMALISED,
    SOFTMAX_SUM_NOT_RESET,
    SOFTMAX_WRONG_AXIS,
    SOFTMAX_WHOLE_TENSOR,
    SOFTMAX_DIVIDED_BY_C,
    SOFTMAX_BASE_2,
    SOFTMAX_SIGN,
    SOFTMAX_TRANSPOSED,              /* element (n, c) taken to be at c * N + n */
    SOFTMAX_PADDING_WARP,            /* lanes past C count as exp(0 - max) */
    SOFTMAX_NO_RESCALE = 16,         /* variant base: + log2 of the lanes that share a row */
    SOFTMAX_NO_RESCALE_IN_LANE = 32, /* + log2 of the lanes: only the lanes' own sums are wrong, their merge is right */
    SOFTMAX_FIRST_WARP = 48,         /* + log2 of the block: sums of the other warps are lost */
    SOFTMAX_OWN_WARP = 64,           /* + log2 of the block: every warp uses its own sum */
};

enum layernorm_mistake {
    LAYERNORM_UNBIASED,
    LAYERNORM_NO_EPS,
    LAYERNORM_EPS_AFTER_ROOT,
    LAYERNORM_EPS_AFTER_INVERSE,
    LAYERNORM_EPS_IGNORED, /* 1e-5 */
    LAYERNORM_EPS_1E_6,
    LAYERNORM_RSTD_IS_VARIANCE,
    LAYERNORM_RSTD_IS_DEVIATION,
    LAYERNORM_NO_ROOT,
    LAYERNORM_STATS_SWAPPED,
    LAYERNORM_AFFINE_SWAPPED,
    LAYERNORM_AFFINE_BY_ROW,
    LAYERNORM_NO_WEIGHT,
    LAYERNORM_NO_BIAS,
    LAYERNORM_NO_AFFINE,
    LAYERNORM_MEAN_NOT_SUBTRACTED,
    LAYERNORM_NOT_CENTRED,
    LAYERNORM_SUM_NOT_DIVIDED,
    LAYERNORM_SQUARES_NOT_DIVIDED,
    LAYERNORM_SUM_NOT_RESET,
    LAYERNORM_SQUARES_NOT_RESET,
    LAYERNORM_PADDING,         /* lanes past C count as (0 - mean)^2 */
    LAYERNORM_TIMES_DEVIATION, /* multiplied by the deviation in place of its inverse */
    LAYERNORM_MEAN_BY_ROWS,    /* divided by N */
    LAYERNORM_VARIANCE_BY_ROWS,
    LAYERNORM_MEAN_IS_0, /* sum * (1 / C) in integers */
    LAYERNORM_VARIANCE_IS_0,
    LAYERNORM_BIAS_SCALED,     /* (xhat + bias) * weight */
    LAYERNORM_FIRST_WARP = 32, /* + log2 of the block */
    LAYERNORM_OWN_WARP = 48,
};

enum backward_mistake {
    BACKWARD_OVERWRITTEN,
    BACKWARD_NO_MEAN_TERMS,
    BACKWARD_NO_FIRST_TERM,
    BACKWARD_NO_SECOND_TERM,
    BACKWARD_SUMS_FOR_MEANS,
    BACKWARD_NO_WEIGHT,
    BACKWARD_NO_RSTD,
    BACKWARD_X_FOR_XHAT,
    BACKWARD_SWAPPED,
    BACKWARD_FIRST_ROW,
    BACKWARD_LAST_ROW,
    BACKWARD_WEIGHTED_DWEIGHT, /* dweight sums dout * weight * xhat */
};

enum causal_mistake {
    CAUSAL_STRICT,   /* j < i */
    CAUSAL_ONE_MORE, /* j <= i + 1 */
    CAUSAL_NO_MASK,
    CAUSAL_NO_LENGTHS,
    CAUSAL_ROW_NOT_MODULO, /* the row of (B * H * T, T) for the row of its matrix */
    CAUSAL_TRANSPOSED,     /* j >= i */
    CAUSAL_NO_SCALE,
    CAUSAL_SCALE_TWICE,
    CAUSAL_SCALE_DIVIDED,
    CAUSAL_MASK_AFTER,             /* softmax of the whole row, and then the mask */
    CAUSAL_MASKED_AS_ZERO,         /* masked scores are 0, so they count in the sum */
    CAUSAL_MASKED_AS_ZERO_WRITTEN, /* and their exponentials are written */
    CAUSAL_MAX_OF_MASKED,
    CAUSAL_MAX_UNSCALED, /* of x, and subtracted from scale * x */
    CAUSAL_NO_MAX,
    CAUSAL_NOT_NORMALISED,
    CAUSAL_EMPTY_ROW_NAN,
    CAUSAL_QUERIES_CUT, /* rows from lengths[b] on are zeros */
    SOFTMAX_BACKWARD_NO_SUM,
    SOFTMAX_BACKWARD_SUM_OF_DOUT,
    SOFTMAX_BACKWARD_NO_OUT,
    SOFTMAX_BACKWARD_ADDED,
    SOFTMAX_BACKWARD_SQUARED, /* the Jacobian's diagonal alone */
    CAUSAL_PADDING = 32,      /* + log2 of the vector: zeros behind the keys in the last one count in the sum */
    CAUSAL_BY_VECTOR = 64,    /* + log2 of the vector: a whole vector is masked or not */
};

/* Variants of mistake_fused() below the first are enum layernorm_mistake, of mistake_fused_backward() enum
 * backward_mistake. */
enum fused_mistake {
    FUSED_NO_RESIDUAL = 128,
    FUSED_SUBTRACTED,
    FUSED_OF_X,        /* x is normalised, the sum only written */
    FUSED_OTHER_ORDER, /* LayerNorm(x) + residual */
    FUSED_SUM_IS_OUT,
    FUSED_SUM_IS_X,
    FUSED_SWAPPED,
    FUSED_UNROUNDED, /* the sum is normalised before it is rounded */
    FUSED_UNROUNDED_STATISTICS,
    FUSED_STATISTICS_IN_T,
    FUSED_STATISTICS_IN_T_USED,
    FUSED_ROUNDED_BEFORE_GAMMA,
    FUSED_ROUNDED_BEFORE_BETA,
    FUSED_BACKWARD_NO_DSUM,
    FUSED_BACKWARD_DSUM_ALONE,
    FUSED_BACKWARD_DSUM_SCALED,   /* by rstd */
    FUSED_BACKWARD_DOUT_ADDED,    /* dout where dsum is meant */
    FUSED_BACKWARD_ROUNDED_FIRST, /* to T before dsum is added */
};

enum small_mistake {
    RESIDUAL_FIRST_ONLY,
    RESIDUAL_SECOND_ONLY,
    RESIDUAL_SUBTRACTED,
    RESIDUAL_MULTIPLIED,
    RESIDUAL_TWICE,
    BIAS_BY_ROW,
    BIAS_MISSING,
    SUM_NOT_SQUARED,
    SUM_NOT_WEIGHTED,
};

#endif

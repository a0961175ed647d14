/* transformer.h — GPT-2 in float64 and plain loops: attention, decoding, a block, both ends of a model, the loss, and the
 * gradients of all of them. Read it as the definition of the model. Nothing here depends on the ops; calls.h does.
 *
 * A part can be computed with one well-known mistake: a kernel that makes the mistake is recognised by its result.
 *
 * A value can carry an estimate of its rounding error on a device, in units of 2^-24. Errors of separate roundings add in
 * quadrature. Each stage multiplies the errors of its inputs by the derivatives of its outputs.
 *
 * Shapes: B sequences of T tokens, N = B * T rows, C = H * D channels, caches of S positions, V tokens in the vocabulary.
 */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include <stdbool.h>
#include <stddef.h>

enum transformer_mistake {
    TRANSFORMER_RIGHT,
    /* attention */
    TRANSFORMER_MASK_STRICT,   /* j < i */
    TRANSFORMER_MASK_ONE_MORE, /* j <= i + 1 */
    TRANSFORMER_MASK_NONE,
    TRANSFORMER_LENGTHS_IGNORED,
    TRANSFORMER_SCALE_MISSING,
    TRANSFORMER_SCALE_TWICE, /* 1 / D */
    TRANSFORMER_SCALE_OF_C,  /* 1 / sqrt(C) */
    TRANSFORMER_KV_SWAPPED,
    TRANSFORMER_QK_SWAPPED,         /* in qkv */
    TRANSFORMER_QK_EXCHANGED,       /* in the product: score_ij = k_i q_j */
    TRANSFORMER_QKV_BY_HEAD,        /* qkv read as (N, H, 3, D) */
    TRANSFORMER_HEADS_NOT_MERGED,   /* out holds (B, H, T, D) */
    TRANSFORMER_HEADS_INSIDE,       /* out holds (N, D, H) */
    TRANSFORMER_WEIGHTS_TRANSPOSED, /* out_i = sum_j p_ji v_j */
    TRANSFORMER_CACHE_STRIDE,       /* heads are T positions apart instead of S */
    TRANSFORMER_CACHE_ONE_LATE,     /* position p is written at p + 1 */
    TRANSFORMER_NOT_DIVIDED,        /* the weights, by their sum */
    TRANSFORMER_LAST_VALUE_MISSING, /* the last key's value is not in the weighted sum */
    /* decoding */
    TRANSFORMER_POSITION_MINUS_ONE, /* the token is treated as one at p - 1 */
    TRANSFORMER_NEW_TOKEN_MISSING,  /* keys before p */
    TRANSFORMER_DECODE_ONE_MORE,    /* keys up to p + 1 */
    TRANSFORMER_POSITION_IGNORED,   /* all S keys */
    TRANSFORMER_POSITION_OF_0,      /* every sequence at sequence 0's position */
    TRANSFORMER_CACHE_ONE_EARLY,
    TRANSFORMER_CACHE_NOT_WRITTEN, /* the old values are read */
    TRANSFORMER_CACHE_USED_ONLY,   /* the new key and value are used, but not stored */
    TRANSFORMER_CACHE_OF_0,        /* every sequence reads sequence 0's cache */
    /* a block */
    TRANSFORMER_PARALLEL,             /* LayerNorm 2 reads LayerNorm 1's input; the attention's branch is still added */
    TRANSFORMER_BRANCH_FORGOTTEN,     /* the previous block's branch is not added */
    TRANSFORMER_BRANCH_IN_LAYER_0,    /* branch is added in layer 0 too */
    TRANSFORMER_ATTENTION_FORGOTTEN,  /* the attention's branch is not added */
    TRANSFORMER_RESIDUAL_NOT_WRITTEN, /* the second sum is normalised, but not stored */
    TRANSFORMER_LN1_MISSING,          /* qkv is computed from the residual */
    TRANSFORMER_LN2_OF_BRANCH,        /* LayerNorm 2 of the branch alone */
    TRANSFORMER_LN_SWAPPED,           /* the LayerNorms' parameters exchanged */
    TRANSFORMER_RESIDUAL_NORMALISED,  /* the second sum adds to LayerNorm 1's output */
    TRANSFORMER_WEIGHT_TRANSPOSED,    /* of the attention's projection */
    TRANSFORMER_PROJECTION_MISSING,   /* the attention's output is the branch */
    TRANSFORMER_QKV_BIAS_MISSING,
    TRANSFORMER_ATTENTION_BIAS_MISSING,
    TRANSFORMER_FC_BIAS_MISSING,
    TRANSFORMER_FC_BIAS_TWICE,
    TRANSFORMER_MLP_BIAS_MISSING,
    TRANSFORMER_GELU_MISSING,
    TRANSFORMER_GELU_ERF,
    TRANSFORMER_BRANCHES_ADDED, /* branch holds the sum of both */
    TRANSFORMER_EPS_FIXED,      /* 1e-5 */
    /* a model */
    TRANSFORMER_WEIGHTS_OF_LAYER_0,
    TRANSFORMER_CACHE_OF_LAYER_0,
    /* a block's gradients */
    TRANSFORMER_BACK_ORDER,               /* the attention's sub-layer first */
    TRANSFORMER_BACK_NO_SUM_2,            /* LayerNorm 2's dsum is missing */
    TRANSFORMER_BACK_NO_SUM_1,            /* LayerNorm 1's */
    TRANSFORMER_BACK_NO_SUMS,             /* both */
    TRANSFORMER_BACK_GELU_OF_HIDDEN,      /* GELU's derivative at its output */
    TRANSFORMER_BACK_GELU_MISSING,        /* the bias gets no gradient */
    TRANSFORMER_BACK_GELU_MISSING_SUMMED, /* the bias gets the column sums */
    TRANSFORMER_BACK_OVERWRITTEN,         /* all parameters' gradients */
    TRANSFORMER_BACK_OVERWRITTEN_WEIGHTS, /* the matrices' */
    TRANSFORMER_BACK_STATISTICS_2,        /* LayerNorm 2 with LayerNorm 1's */
    TRANSFORMER_BACK_STATISTICS_1,        /* LayerNorm 1 with LayerNorm 2's */
    TRANSFORMER_BACK_STATISTICS,          /* exchanged */
    TRANSFORMER_BACK_SUM_IS_NORMALISED,   /* LayerNorms use their outputs instead of their inputs */
    TRANSFORMER_BACK_SUM_2_IS_RESIDUAL,   /* LayerNorm 2 uses the block's input */
    TRANSFORMER_BACK_SUM_1_IS_MIDDLE,     /* LayerNorm 1 uses LayerNorm 2's input */
    TRANSFORMER_BACK_MLP_BY_FC,           /* dhidden by fc's weight */
    TRANSFORMER_BACK_FC_BY_MLP,           /* dnormalised2 by the MLP's second weight */
    TRANSFORMER_BACK_MLP_EXCHANGED,       /* both */
    TRANSFORMER_BACK_TRANSPOSED,          /* dattention by the projection's weight transposed */
    TRANSFORMER_BACK_PROJECTION_MISSING,  /* the attention's output gets the branch's gradient */
    TRANSFORMER_BACK_NO_MLP_BIAS,
    TRANSFORMER_BACK_NO_ATTENTION_BIAS,
    TRANSFORMER_BACK_NO_QKV_BIAS,
    TRANSFORMER_BACK_NO_BIASES,         /* none of the three */
    TRANSFORMER_BACK_FC_BIAS_TWICE,     /* by GELU's kernel and by the product's */
    TRANSFORMER_BACK_MLP_OF_FC,         /* its weight's gradient uses GELU's input */
    TRANSFORMER_BACK_FC_OF_1,           /* fc's uses LayerNorm 1's output */
    TRANSFORMER_BACK_FC_OF_MIDDLE,      /* fc's uses LayerNorm 2's input */
    TRANSFORMER_BACK_QKV_OF_2,          /* qkv's uses LayerNorm 2's output */
    TRANSFORMER_BACK_QKV_OF_RESIDUAL,   /* qkv's uses LayerNorm 1's input */
    TRANSFORMER_BACK_ATTENTION_OF_2,    /* the projection's uses LayerNorm 2's output */
    TRANSFORMER_BACK_STREAM_NOT_PASSED, /* the attention's sub-layer gets the gradient that entered the MLP's */
    TRANSFORMER_MISTAKES
};

/* (count) values and their errors. error: NULL where errors are not estimated. */
struct field {
    double *value, *error;
};

/* The stages of a block in the order of computation, and the statistics of its LayerNorms. The first twelve are the tensors
 * that a block keeps for its backward pass. In "layer L", the end of a model, RESIDUAL is the sum of the last block, and
 * NORMALISED the final LayerNorm. */
enum transformer_stage {
    STAGE_RESIDUAL,     /* (N, C)  the block's input: the previous block's branch is added */
    STAGE_NORMALISED,   /* (N, C)  LayerNorm 1 */
    STAGE_QKV,          /* (N, 3C) */
    STAGE_ATTENTION,    /* (N, C)  the heads, side by side */
    STAGE_MIDDLE,       /* (N, C)  residual + the attention's branch */
    STAGE_NORMALISED_2, /* (N, C)  LayerNorm 2 */
    STAGE_FC,           /* (N, 4C) GELU's input, before the bias is added */
    STAGE_HIDDEN,       /* (N, 4C) GELU's output */
    STAGE_MEAN,         /* (N)     of RESIDUAL */
    STAGE_RSTD,         /* (N)     1 / sqrt(variance + eps) */
    STAGE_MEAN_2,       /* (N)     of MIDDLE */
    STAGE_RSTD_2,       /* (N) */
    TRANSFORMER_KEPT,
    STAGE_ATTENTION_BRANCH = TRANSFORMER_KEPT, /* (N, C) the attention's projection */
    STAGE_BRANCH,                              /* (N, C) the MLP's projection */
    STAGE_LOGITS,                              /* (N, V) */
};

/* Called with each stage when it is computed; may change the values, which later stages use. Statistics have no errors. */
typedef void transformer_observer(void *context, enum transformer_stage stage, int layer, struct field values,
                                  size_t rows, size_t columns);

/* The function between the MLP's two products. GPT-2's is the first; the others are those of its relatives. */
enum transformer_activation { TRANSFORMER_GELU_TANH, TRANSFORMER_ERF, TRANSFORMER_RELU };

/* Dropout in training, where GPT-2 has it. The index is that of the element: of the weights (B, H, T, T), of a branch (N, C).
 * Returns the element's factor. */
enum transformer_dropout { DROPOUT_OF_WEIGHTS, DROPOUT_OF_ATTENTION, DROPOUT_OF_MLP };
typedef double transformer_factor(void *context, enum transformer_dropout place, size_t index);

struct transformer {
    int B, T, H, D, S, C;
    double eps;
    double rounding; /* usual size of one rounding to the tensors' type, relative, in 2^-24: 0.5, 2^12 or 2^15 */
    bool errors;     /* are errors estimated? If so, every field has them. */
    enum transformer_mistake mistake;
    enum transformer_activation activation;
    const float *lengths;           /* (B): of the prompts; NULL: all T */
    transformer_observer *observer; /* or NULL */
    transformer_factor *factor;     /* NULL: no dropout; of whole prompts, and without errors */
    void *context;                  /* of the observer and the factor */
};

/* A block's parameters, matrices (out, in). */
struct transformer_block {
    const float *ln1_weight, *ln1_bias, *qkv_weight, *qkv_bias, *attention_weight, *attention_bias;
    const float *ln2_weight, *ln2_bias, *fc_weight, *fc_bias, *mlp_weight, *mlp_bias;
};
enum { TRANSFORMER_BLOCK_TENSORS = 12 };

/* A model's other parameters. The logits' projection is the token embedding where head is NULL. */
struct transformer_model {
    const float *token_embedding, *position_embedding, *final_weight, *final_bias; /* (V, C), (S, C), (C), (C) */
    size_t V;
    const float *head; /* (V, C), or NULL */
};

/* ---- fields ---- */

/* Zeros: numbers, and a field with errors if w->errors. They end the program if no memory is left. */
double *transformer_numbers(size_t count);
struct field transformer_field(const struct transformer *w, size_t count);
void field_free(struct field field);

/* The field from index `offset` on; and a copy of count values and errors. */
struct field field_at(struct field field, size_t offset);
void field_copy(struct field to, struct field from, size_t count);

/* ---- forward ---- */

/* out (rows, OC) = x (rows, C) weight^T + bias; weight (OC, C); bias may be NULL */
void transformer_linear(const struct transformer *w, struct field out, struct field x, const float *weight,
                        const float *bias, size_t rows, size_t C, size_t OC);
/* out (N, C) from qkv (N, 3C) of whole prompts; positions 0..T-1 of k and v (B, H, S, D) are written. k and v without values:
 * no cache. */
void transformer_attention(const struct transformer *w, struct field out, struct field k, struct field v,
                           struct field qkv);
/* x[i] *= the factor of element i, for count elements from `first` on; without dropout nothing is done. */
void transformer_drop(const struct transformer *w, enum transformer_dropout place, double *x, size_t first,
                      size_t count);
/* transformer_keys: the number of keys that query i of sequence b of a prompt attends to. transformer_probabilities:
 * their weights p (count), with errors relative to p, from q (D) and k (count, D). */
int transformer_keys(const struct transformer *w, int b, int i);
void transformer_probabilities(const struct transformer *w, struct field p, struct field q, struct field k, int count);
/* out (B, C) from qkv (B, 3C) of one token per sequence; writes k and v (B, H, S, D) at positions (B). */
void transformer_decode(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        const float *positions);
/* A block: residual and branch (N, C) in and out; branch is no input in layer 0. k and v: as above. positions: NULL for whole
 * prompts, else one token per sequence. */
void transformer_block(const struct transformer *w, const struct transformer_block *weights, int layer,
                       struct field residual, struct field branch, struct field k, struct field v,
                       const float *positions);

/* out (C) = a token's embedding + a position's */
void transformer_embed(const struct transformer *w, struct field out, const struct transformer_model *model,
                       size_t token, size_t position);
/* The end of a model of so many layers: residual (rows, C) += branch; normalised (rows, C), the final LayerNorm; logits
 * (rows, V), which are float in every type. */
void transformer_end(const struct transformer *w, const struct transformer_model *model, int layers,
                     struct field residual, struct field branch, struct field normalised, struct field logits,
                     size_t rows);
/* The cross-entropy of one row of logits (V), in nats, and its error; 0 for a target < 0. */
double transformer_loss(struct field logits, size_t V, int target, double *error);

/* ---- backward: from exact forward values. Gradients of parameters are accumulated in float on a device ---- */

/* A block: stream (N, C) is the gradient of its residual + branch, and becomes that of its input. The gradients of the
 * parameters, in the order of struct transformer_block, are added up. kept: the first stages. */
void transformer_block_backward(const struct transformer *w, const struct transformer_block *weights,
                                double *const kept[TRANSFORMER_KEPT], struct field stream,
                                const struct field gradient[TRANSFORMER_BLOCK_TENSORS]);
/* dx (N, C), of the sum that the final LayerNorm reads, from dlogits (N, V); the gradients of three parameters are added up,
 * the first of them the logits' projection.
 * kept: the stages of layer L. */
void transformer_end_backward(const struct transformer *w, const struct transformer_model *model,
                              double *const kept[TRANSFORMER_KEPT], struct field dx, struct field dlogits,
                              struct field dhead, struct field dfinal_weight, struct field dfinal_bias);
/* dlogits (V), which may be the logits, = scale times the gradient of transformer_loss. */
void transformer_loss_backward(double *dlogits, const double *logits, size_t V, int target, double scale);

#endif

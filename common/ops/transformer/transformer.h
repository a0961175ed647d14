/* transformer.h — the parts of GPT-2 in float64 and plain loops: attention, decoding, a block, their gradients. Each
 * part is computed correctly, or with one well-known mistake: a kernel that makes the mistake is recognised by its
 * result.
 *
 * Every value carries an estimate of its rounding error, in units of 2^-24. Errors of separate roundings add in
 * quadrature. Each stage multiplies the errors of its inputs by the derivatives of its outputs.
 */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include "ops/reference.h"

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
    /* decoding */
    TRANSFORMER_NEW_TOKEN_MISSING, /* keys before p */
    TRANSFORMER_DECODE_ONE_MORE,   /* keys up to p + 1 */
    TRANSFORMER_POSITION_IGNORED,  /* all S keys */
    TRANSFORMER_POSITION_OF_0,     /* every sequence at sequence 0's position */
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

/* (count) values and their errors. */
struct field {
    double *value, *error;
};

struct transformer {
    int B, T, H, D, S, C;
    double eps;
    double rounding; /* usual size of one rounding to the tensors' type, relative, in 2^-24: 0.5, 2^12 or 2^15 */
    enum transformer_mistake mistake;
    const float *lengths; /* (B): of the prompts */
};

/* A block's parameters, as floats. */
struct transformer_block {
    const float *ln1_weight, *ln1_bias, *qkv_weight, *qkv_bias, *attention_weight, *attention_bias;
    const float *ln2_weight, *ln2_bias, *fc_weight, *fc_bias, *mlp_weight, *mlp_bias;
};

/* The tensors that a block's forward pass keeps for its backward pass, in the order of the op's tensors. */
struct transformer_kept {
    const float *residual, *normalised, *qkv, *attention, *middle, *normalised2; /* (N, C), but qkv: (N, 3C) */
    const float *fc, *hidden;                                                    /* (N, 4C) */
    const float *mean, *rstd, *mean2, *rstd2;                                    /* (N) */
};
enum { TRANSFORMER_KEPT_TENSORS = 12 };

struct transformer transformer_of(const struct op_sizes *sizes, const float *lengths, enum transformer_mistake mistake);

/* A field of zeros, and a copy of a tensor with errors of 0. Both end the program if no memory is left. */
struct field field_make(size_t count);
struct field field_of(const float *values, size_t count);
void field_free(struct field field);

/* out (rows, OC) = x (rows, C) weight^T + bias; weight (OC, C); bias may be NULL */
void transformer_linear(const struct transformer *w, struct field out, struct field x, const float *weight,
                        const float *bias, int rows, int C, int OC);
/* out (rows, C) = LayerNorm(x) */
void transformer_layernorm(const struct transformer *w, struct field out, struct field x, const float *weight,
                           const float *bias, int rows);
/* x (rows, C) in place: GELU(x + bias) */
void transformer_bias_gelu(const struct transformer *w, struct field x, const float *bias, int rows, int C);
/* sum (count) = a + b, rounded. sum may be a or b. */
void transformer_add(const struct transformer *w, struct field sum, struct field a, struct field b, size_t count);

/* out (N, C) from qkv (N, 3C) of whole prompts; positions 0..T-1 of k and v (B, H, S, D) are written. */
void transformer_attention(const struct transformer *w, struct field out, struct field k, struct field v,
                           struct field qkv);
/* transformer_keys: the number of keys that query i of sequence b of a prompt attends to. transformer_probabilities:
 * their weights p (count), with errors (count) relative to p, from q (D) and k (count, D). */
int transformer_keys(const struct transformer *w, int b, int i);
void transformer_probabilities(const struct transformer *w, double *p, double *error, struct field q, struct field k,
                               int count);
/* out (B, C) from qkv (B, 3C) of one token per sequence; writes k and v (B, H, S, D) at positions (B). */
void transformer_decode(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        const float *positions);
/* A block: residual and branch (N, C) in and out. positions: NULL for whole prompts, else one token per sequence. */
void transformer_block(const struct transformer *w, const struct transformer_block *weights, int layer,
                       struct field residual, struct field branch, struct field k, struct field v,
                       const float *positions);

/* ---- backward: gradients of exact inputs; those of parameters are accumulated in float ---- */

/* dx (N, C) = dout (N, OC) weight; weight (OC, C) */
void transformer_linear_dx(const struct transformer *w, struct field dx, struct field dout, const float *weight, int N,
                           int C, int OC);
/* dweight (OC, C) += dout^T x */
void transformer_linear_dweight(struct field dweight, struct field dout, const float *x, int N, int C, int OC);
/* dbias (OC) += sum over n of dout[n] */
void transformer_linear_dbias(struct field dbias, struct field dout, int N, int OC);
/* dx (N, C), which may be dout, and dbias (C); x is GELU's input, before the bias is added */
void transformer_gelu_backward(const struct transformer *w, struct field dx, struct field dbias, struct field dout,
                               const float *x, const float *bias, int N, int C);
/* dx (N, C) = LayerNorm'(dout) + dsum; dweight, dbias (C). dsum's values may be NULL. dx may be dout or dsum.
 * norm->x is LayerNorm's input. */
struct transformer_norm {
    const float *x, *mean, *rstd, *weight;
};
void transformer_layernorm_backward(const struct transformer *w, struct field dx, struct field dweight,
                                    struct field dbias, struct field dout, struct field dsum,
                                    const struct transformer_norm *norm);
/* dqkv (N, 3C) from dout (N, C) and qkv (N, 3C) of whole prompts */
void transformer_attention_backward(const struct transformer *w, struct field dqkv, struct field dout,
                                    const float *qkv);

/* Computes the kept tensors of a block from its input in kept[0], each rounded to its tensor's type. */
void transformer_keep(const struct op_sizes *sizes, const float *lengths, const struct transformer_block *weights,
                      float *const kept[TRANSFORMER_KEPT_TENSORS]);

/* ---- tensors of a call, by name ---- */

/* A tensor as a field with errors of 0. */
struct field call_field(const struct op_call *call, const char *name);

/* Stores `count` values of an output from index `offset`. Copied values have errors of 0 and are compared exactly. */
void call_put(const struct op_call *call, const char *name, size_t offset, struct field from, size_t count);

/* Stores the whole output and frees the field. */
void call_finish(const struct op_call *call, const char *name, struct field field);

/* The settings of a call's op, with its lengths (if it has any) and that mistake. */
struct transformer call_transformer(const struct op_call *call, int mistake);

/* The parameters and the kept tensors of a call. */
struct transformer_block call_block(const struct op_call *call);
struct transformer_kept call_kept(const struct op_call *call);

/* ---- packed weights of a model ---- */

/* The token and position embeddings, each of a block's 12 tensors with all its layers, and the final LayerNorm. */
struct transformer_model {
    const float *token_embedding, *position_embedding, *final_weight, *final_bias; /* (V, C), (S, C), (C), (C) */
};
struct transformer_model transformer_weights(const struct op_sizes *sizes, const float *weights);
struct transformer_block transformer_layer(const struct op_sizes *sizes, const float *weights, int layer);

/* The 12 tensors of a block, in their order: names, and elements. */
enum { TRANSFORMER_BLOCK_TENSORS = 12 };
extern const char *const transformer_block_names[TRANSFORMER_BLOCK_TENSORS];
void transformer_block_elements(int C, size_t elements[TRANSFORMER_BLOCK_TENSORS]);

/* ---- for the ops' references ---- */

/* An op_reference's `fill`: default-initialised parameters (biases 0, LayerNorm weights 1) hide half of the mistakes.
 * So every parameter is random, and attention weights are uneven. */
float transformer_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                       float *const tensor[], int t, uint64_t key, uint64_t i);

/* The op's own compute, for records of mistakes; `variant` is an enum transformer_mistake. */
op_compute transformer_mistaken;

/* A part's mistakes can occur in every op that contains the part. block_backward has its own.
 *   attention  any attention (mistakes.c)       prompt  over whole prompts     decode  of one token over a cache
 *   block      any block                        model   of several layers      cache   of several layers' caches */
extern const struct op_mistake attention_mistakes[], prompt_mistakes[], decode_mistakes[], block_mistakes[],
    model_mistakes[], cache_mistakes[];

/* Mistakes that are recognised by the output, sequence or step that is wrong. */
extern const struct op_mistake transformer_mistakes_reported[], transformer_mistakes_shown[];

/* The first wrong output of that case in the order of computation, or -1. */
int transformer_first_wrong(const struct evidence *evidence, const struct evidence_case *shown);

/* Predicates: the first wrong output is called that, in the first wrong case or in any. */
bool transformer_begins_wrong(const struct evidence *evidence, const char *name);

#endif

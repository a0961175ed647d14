/* transformer.h — the parts of GPT-2 in float64 and plain loops: attention, decoding, a block, their gradients. Each part is
 * computed correctly, or with one well-known mistake: a kernel that makes the mistake is recognised by its result.
 *
 * Every value goes with the size of its rounding error, in units of 2^-24. Errors of separate roundings add like the sides
 * of a right angle, and each stage passes on what it was given, times how much it depends on it.
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
    TRANSFORMER_CACHE_STRIDE,       /* heads follow each other after T positions in place of S */
    TRANSFORMER_CACHE_ONE_LATE,     /* position p is written at p + 1 */
    /* decoding */
    TRANSFORMER_NEW_TOKEN_MISSING, /* keys before p */
    TRANSFORMER_DECODE_ONE_MORE,   /* keys up to p + 1 */
    TRANSFORMER_POSITION_IGNORED,  /* all S keys */
    TRANSFORMER_POSITION_OF_0,     /* every sequence at sequence 0's position */
    TRANSFORMER_CACHE_ONE_EARLY,
    TRANSFORMER_CACHE_NOT_WRITTEN, /* and what was there is read */
    TRANSFORMER_CACHE_USED_ONLY,   /* the new key and value are seen, and not kept */
    TRANSFORMER_CACHE_OF_0,        /* every sequence reads sequence 0's cache */
    /* a block */
    TRANSFORMER_PARALLEL, /* LayerNorm 2 reads what LayerNorm 1 read; the attention's branch is added all the same */
    TRANSFORMER_BRANCH_FORGOTTEN,     /* what the block before left is not added */
    TRANSFORMER_BRANCH_IN_LAYER_0,    /* what stands in branch is added in layer 0 too */
    TRANSFORMER_ATTENTION_FORGOTTEN,  /* the attention's branch is not added */
    TRANSFORMER_RESIDUAL_NOT_WRITTEN, /* the second sum is normalised and not kept */
    TRANSFORMER_LN1_MISSING,          /* qkv of the residual itself */
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
    TRANSFORMER_BRANCHES_ADDED, /* branch holds the attention's and the MLP's */
    TRANSFORMER_EPS_FIXED,      /* 1e-5 */
    /* a model */
    TRANSFORMER_WEIGHTS_OF_LAYER_0,
    TRANSFORMER_CACHE_OF_LAYER_0,
    /* a block's gradients */
    TRANSFORMER_BACK_ORDER,               /* the attention's sub-layer first */
    TRANSFORMER_BACK_NO_SUM_2,            /* LayerNorm 2 does not add the gradient that went past it */
    TRANSFORMER_BACK_NO_SUM_1,            /* LayerNorm 1 does not */
    TRANSFORMER_BACK_NO_SUMS,             /* neither does */
    TRANSFORMER_BACK_GELU_OF_HIDDEN,      /* GELU's slope at its result */
    TRANSFORMER_BACK_GELU_MISSING,        /* and the bias gets nothing */
    TRANSFORMER_BACK_GELU_MISSING_SUMMED, /* and the bias gets the columns' sums */
    TRANSFORMER_BACK_OVERWRITTEN,         /* all parameters' gradients */
    TRANSFORMER_BACK_OVERWRITTEN_WEIGHTS, /* the matrices' */
    TRANSFORMER_BACK_STATISTICS_2,        /* LayerNorm 2 with LayerNorm 1's */
    TRANSFORMER_BACK_STATISTICS_1,        /* LayerNorm 1 with LayerNorm 2's */
    TRANSFORMER_BACK_STATISTICS,          /* exchanged */
    TRANSFORMER_BACK_SUM_IS_NORMALISED,   /* LayerNorms from what they gave, not from what they had */
    TRANSFORMER_BACK_SUM_2_IS_RESIDUAL,   /* LayerNorm 2 from the block's input */
    TRANSFORMER_BACK_SUM_1_IS_MIDDLE,     /* LayerNorm 1 from LayerNorm 2's */
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
    TRANSFORMER_BACK_MLP_OF_FC,         /* its weight's gradient from what GELU had */
    TRANSFORMER_BACK_FC_OF_1,           /* fc's from LayerNorm 1's result */
    TRANSFORMER_BACK_FC_OF_MIDDLE,      /* fc's from what LayerNorm 2 had */
    TRANSFORMER_BACK_QKV_OF_2,          /* qkv's from LayerNorm 2's result */
    TRANSFORMER_BACK_QKV_OF_RESIDUAL,   /* qkv's from what LayerNorm 1 had */
    TRANSFORMER_BACK_ATTENTION_OF_2,    /* the projection's from LayerNorm 2's result */
    TRANSFORMER_BACK_STREAM_NOT_PASSED, /* the attention's sub-layer gets what entered the MLP's */
    TRANSFORMER_MISTAKES
};

/* (count) values and the errors that they carry. */
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

/* What a block's forward pass leaves to its backward pass, in the order of its op's tensors. */
struct transformer_kept {
    const float *residual, *normalised, *qkv, *attention, *middle, *normalised2; /* (N, C), but qkv: (N, 3C) */
    const float *fc, *hidden;                                                    /* (N, 4C) */
    const float *mean, *rstd, *mean2, *rstd2;                                    /* (N) */
};
enum { TRANSFORMER_KEPT_TENSORS = 12 };

struct transformer transformer_of(const struct op_sizes *sizes, const float *lengths, enum transformer_mistake mistake);

/* Zeros; and what a tensor holds, without error. Ends the program when memory is out. */
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
/* sum (count) = a + b, rounded. May be one of them. */
void transformer_add(const struct transformer *w, struct field sum, struct field a, struct field b, size_t count);

/* out (N, C) from qkv (N, 3C) of whole prompts; positions 0..T-1 of k and v (B, H, S, D) are written. */
void transformer_attention(const struct transformer *w, struct field out, struct field k, struct field v,
                           struct field qkv);
/* How many keys query i of sequence b sees, of a prompt; and what it gives each of them, whose error is relative to it:
 * q (D), k (count, D), p, error (count). */
int transformer_keys(const struct transformer *w, int b, int i);
void transformer_probabilities(const struct transformer *w, double *p, double *error, struct field q, struct field k,
                               int count);
/* out (B, C) from qkv (B, 3C) of one token a sequence, at positions (B); it goes into k and v (B, H, S, D). */
void transformer_decode(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        const float *positions);
/* A block: residual and branch (N, C) in and out. positions NULL: whole prompts; else one token a sequence (T is 1). */
void transformer_block(const struct transformer *w, const struct transformer_block *weights, int layer,
                       struct field residual, struct field branch, struct field k, struct field v,
                       const float *positions);

/* ---- back: each gradient is what it would be if its inputs were exact; parameters' are added, in float ---- */

/* dx (N, C) = dout (N, OC) weight; weight (OC, C) */
void transformer_linear_dx(const struct transformer *w, struct field dx, struct field dout, const float *weight, int N,
                           int C, int OC);
/* dweight (OC, C) += dout^T x */
void transformer_linear_dweight(struct field dweight, struct field dout, const float *x, int N, int C, int OC);
/* dbias (OC) += sum over n of dout[n] */
void transformer_linear_dbias(struct field dbias, struct field dout, int N, int OC);
/* dx (N, C), which may be dout, and dbias (C); x is what GELU had, without its bias */
void transformer_gelu_backward(const struct transformer *w, struct field dx, struct field dbias, struct field dout,
                               const float *x, const float *bias, int N, int C);
/* dx (N, C) = LayerNorm'(dout) + dsum (values NULL: nothing), dx may be either; dweight, dbias (C); x is what it had */
struct transformer_norm {
    const float *x, *mean, *rstd, *weight;
};
void transformer_layernorm_backward(const struct transformer *w, struct field dx, struct field dweight,
                                    struct field dbias, struct field dout, struct field dsum,
                                    const struct transformer_norm *norm);
/* dqkv (N, 3C) from dout (N, C) and qkv (N, 3C) of whole prompts */
void transformer_attention_backward(const struct transformer *w, struct field dqkv, struct field dout,
                                    const float *qkv);

/* All that a block keeps, from its input in kept[0], each rounded to its tensor's type. */
void transformer_keep(const struct op_sizes *sizes, const float *lengths, const struct transformer_block *weights,
                      float *const kept[TRANSFORMER_KEPT_TENSORS]);

/* ---- tensors of a call, by name ---- */

/* A tensor as a field without error. */
struct field call_field(const struct op_call *call, const char *name);

/* `count` values from `offset` on of an output. Values that were copied carry no error and are compared exactly. */
void call_put(const struct op_call *call, const char *name, size_t offset, struct field from, size_t count);

/* The whole output; frees the field. */
void call_finish(const struct op_call *call, const char *name, struct field field);

/* What the op with its lengths (if it has any) and that mistake computes with. */
struct transformer call_transformer(const struct op_call *call, int mistake);

/* The parameters and the kept tensors among a call's. */
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

/* An op_reference's `fill`: default-initialised parameters (biases 0, LayerNorm weights 1) hide half of the mistakes,
 * so every parameter counts, and attention weights are uneven. */
float transformer_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                       float *const tensor[], int t, uint64_t key, uint64_t i);

/* The op's own compute, for records of mistakes: `variant` is an enum transformer_mistake. */
op_compute transformer_mistaken;

/* Mistakes of a part show in whatever it is a part of. Those of block_backward are its own. */
extern const struct op_mistake attention_mistakes[], decode_mistakes[], block_mistakes[], model_mistakes[];

/* Recognised by which output, sequence or step is wrong. */
extern const struct op_mistake transformer_mistakes_reported[], transformer_mistakes_shown[];

/* The first output that is wrong in that case, or -1: outputs are in the order in which they are computed. */
int transformer_first_wrong(const struct evidence *evidence, const struct evidence_case *shown);

/* Predicates: the first wrong output is called that, in the first wrong case or in any. */
bool transformer_begins_wrong(const struct evidence *evidence, const char *name);

#endif

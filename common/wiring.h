/* wiring.h — how the parts of GPT-2 are wired, in float64 and plain loops: attention, decoding, a block. Right, or with one
 * well-known mistake in it, so that a wrong wiring can be told by what it computes.
 *
 * Every value goes with the size of its rounding error, in units of 2^-24. Errors of separate roundings add like the sides
 * of a right angle, and each stage passes on what it was given, times how much it depends on it.
 */
#ifndef WIRING_H
#define WIRING_H

#include "ops.h"

enum wiring_mistake {
    WIRING_RIGHT,
    /* attention */
    WIRING_MASK_STRICT,   /* j < i */
    WIRING_MASK_ONE_MORE, /* j <= i + 1 */
    WIRING_MASK_NONE,
    WIRING_LENGTHS_IGNORED,
    WIRING_SCALE_MISSING,
    WIRING_SCALE_TWICE, /* 1 / D */
    WIRING_SCALE_OF_C,  /* 1 / sqrt(C) */
    WIRING_KV_SWAPPED,
    WIRING_QK_SWAPPED,         /* in qkv */
    WIRING_QK_EXCHANGED,       /* in the product: score_ij = k_i q_j */
    WIRING_QKV_BY_HEAD,        /* qkv read as (N, H, 3, D) */
    WIRING_HEADS_NOT_MERGED,   /* out holds (B, H, T, D) */
    WIRING_HEADS_INSIDE,       /* out holds (N, D, H) */
    WIRING_WEIGHTS_TRANSPOSED, /* out_i = sum_j p_ji v_j */
    WIRING_CACHE_STRIDE,       /* heads follow each other after T positions in place of S */
    WIRING_CACHE_ONE_LATE,     /* position p is written at p + 1 */
    /* decoding */
    WIRING_NEW_TOKEN_MISSING, /* keys before p */
    WIRING_DECODE_ONE_MORE,   /* keys up to p + 1 */
    WIRING_POSITION_IGNORED,  /* all S keys */
    WIRING_POSITION_OF_0,     /* every sequence at sequence 0's position */
    WIRING_CACHE_ONE_EARLY,
    WIRING_CACHE_NOT_WRITTEN, /* and what was there is read */
    WIRING_CACHE_USED_ONLY,   /* the new key and value are seen, and not kept */
    WIRING_CACHE_OF_0,        /* every sequence reads sequence 0's cache */
    /* a block */
    WIRING_PARALLEL,         /* LayerNorm 2 reads what LayerNorm 1 read; the attention's branch is added all the same */
    WIRING_BRANCH_FORGOTTEN, /* what the block before left is not added */
    WIRING_ATTENTION_FORGOTTEN,  /* the attention's branch is not added */
    WIRING_RESIDUAL_NOT_WRITTEN, /* the second sum is normalised and not kept */
    WIRING_LN1_MISSING,          /* qkv of the residual itself */
    WIRING_LN2_OF_BRANCH,        /* LayerNorm 2 of the branch alone */
    WIRING_LN_SWAPPED,           /* the LayerNorms' parameters exchanged */
    WIRING_RESIDUAL_NORMALISED,  /* the second sum adds to LayerNorm 1's output */
    WIRING_WEIGHT_TRANSPOSED,    /* of the attention's projection */
    WIRING_PROJECTION_MISSING,   /* the attention's output is the branch */
    WIRING_QKV_BIAS_MISSING,
    WIRING_ATTENTION_BIAS_MISSING,
    WIRING_FC_BIAS_MISSING,
    WIRING_FC_BIAS_TWICE,
    WIRING_MLP_BIAS_MISSING,
    WIRING_GELU_MISSING,
    WIRING_GELU_ERF,
    WIRING_BRANCHES_ADDED, /* branch holds the attention's and the MLP's */
    /* a model */
    WIRING_WEIGHTS_OF_LAYER_0,
    WIRING_CACHE_OF_LAYER_0,
    WIRING_MISTAKES
};

/* (count) values and the errors that they carry. */
struct field {
    double *value, *error;
};

struct wiring {
    int B, T, H, D, S, C;
    double eps;
    double rounding; /* usual size of one rounding to the tensors' type, relative, in 2^-24: 0.5, 2^12 or 2^15 */
    enum wiring_mistake mistake;
    const float *lengths; /* (B): of the prompts */
};

/* A block's parameters, as floats. */
struct wiring_block {
    const float *ln1_weight, *ln1_bias, *qkv_weight, *qkv_bias, *attention_weight, *attention_bias;
    const float *ln2_weight, *ln2_bias, *fc_weight, *fc_bias, *mlp_weight, *mlp_bias;
};

struct wiring wiring_of(const struct op_sizes *sizes, const float *lengths, enum wiring_mistake mistake);

/* Zeros; and what a tensor holds, without error. Ends the program when memory is out. */
struct field field_make(size_t count);
struct field field_of(const float *values, size_t count);
void field_free(struct field field);

/* out (rows, OC) = x (rows, C) weight^T + bias; weight (OC, C); bias may be NULL */
void wiring_linear(const struct wiring *w, struct field out, struct field x, const float *weight, const float *bias,
                   int rows, int C, int OC);
/* out (rows, C) = LayerNorm(x) */
void wiring_layernorm(const struct wiring *w, struct field out, struct field x, const float *weight, const float *bias,
                      int rows);
/* sum (count) = a + b, rounded. May be one of them. */
void wiring_add(const struct wiring *w, struct field sum, struct field a, struct field b, size_t count);

/* out (N, C) from qkv (N, 3C) of whole prompts; positions 0..T-1 of k and v (B, H, S, D) are written. */
void wiring_attention(const struct wiring *w, struct field out, struct field k, struct field v, struct field qkv);
/* out (B, C) from qkv (B, 3C) of one token a sequence, at positions (B); it goes into k and v (B, H, S, D). */
void wiring_decode(const struct wiring *w, struct field out, struct field k, struct field v, struct field qkv,
                   const float *positions);
/* A block: residual and branch (N, C) in and out. positions NULL: whole prompts; else one token a sequence (T is 1). */
void wiring_block(const struct wiring *w, const struct wiring_block *weights, int layer, struct field residual,
                  struct field branch, struct field k, struct field v, const float *positions);

/* ---- the ops of ops.h that are made of it ---- */

/* Where the parts of a model's packed weights begin: the order of gpt2/formats/weights.h, each tensor with all its layers. */
struct wiring_model {
    const float *token_embedding, *position_embedding, *final_weight, *final_bias; /* (V, C), (S, C), (C), (C) */
};
struct wiring_model wiring_weights(const struct op_sizes *sizes, const float *weights);
struct wiring_block wiring_layer(const struct op_sizes *sizes, const float *weights, int layer);

/* Elements of the 12 tensors of a block, in their order. */
enum { WIRING_BLOCK_TENSORS = 12 };
void wiring_block_elements(int C, size_t elements[WIRING_BLOCK_TENSORS]);

/* The outputs of a wiring op with that mistake in it; condition (NULL: nobody asks) as in reference.h. False: no such op. */
bool wiring_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                    enum wiring_mistake mistake, double *const out[], double *const condition[]);

#endif

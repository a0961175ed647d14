/* calls.h — what the ops of a model share: calls of transformer.h with their tensors, inputs, and mistakes. */
#ifndef TRANSFORMER_CALLS_H
#define TRANSFORMER_CALLS_H

#include "ops/reference.h"
#include "transformer.h"

/* ---- tensors of a call, by name ---- */

/* A tensor as a field, with errors of 0 if the call has conditions. */
struct field call_field(const struct op_call *call, const char *name);

/* Stores `count` values of an output from index `offset`. Copied values have errors of 0 and are compared exactly. */
void call_put(const struct op_call *call, const char *name, size_t offset, struct field from, size_t count);

/* Stores the whole output and frees the field. */
void call_finish(const struct op_call *call, const char *name, struct field field);

/* The settings of a call's op, with its lengths (if it has any) and that mistake. Errors are estimated if the call has
 * conditions. */
struct transformer call_transformer(const struct op_call *call, int mistake);

/* The parameters of a call's block. */
struct transformer_block call_block(const struct op_call *call);

/* ---- packed weights of a model ---- */

/* The token and position embeddings, each of a block's 12 tensors with all its layers, and the final LayerNorm. */
struct transformer_model transformer_weights(const struct op_sizes *sizes, const float *weights);
struct transformer_block transformer_layer(const struct op_sizes *sizes, const float *weights, int layer);

/* The 12 tensors of a block, in their order: names, and elements. */
extern const char *const transformer_block_names[TRANSFORMER_BLOCK_TENSORS];
void transformer_block_elements(int C, size_t elements[TRANSFORMER_BLOCK_TENSORS]);

/* ---- for the ops' references ---- */

/* The passes of gpt2_forward and gpt2_decode. */
op_compute model_forward, model_decode;

/* An op_reference's `fill`: default-initialised parameters (biases 0, LayerNorm weights 1) hide half of the mistakes.
 * So every parameter is random, and attention weights are uneven. */
void transformer_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                      float *const tensor[], int t, uint64_t key, uint64_t count);

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

#endif

/* hf.h — a GPT-2 in a folder of Hugging Face's: config.json and model.safetensors. (Its tokenizer: tokenizer/tokenizer.h.)
 *
 * Tensors may have the prefix "transformer." or not. lm_head.weight is tied to wte.weight: it may be absent, and where it is
 * there it must hold the same numbers. The buffers h.*.attn.bias and h.*.attn.masked_bias are the causal mask of old versions:
 * skipped. Linear weights are Conv1D's: (in, out).
 */
#ifndef GPT2_HF_H
#define GPT2_HF_H

#include "gpt2/formats/weights.h"

/* path: the folder, or its .safetensors file. Types F32, F16 and BF16, which may be mixed. Refused, with the file and the
 * reason: what safetensors.h refuses; a config.json that is invalid, lacks a size or asks for what is not GPT-2 (another
 * activation, scaling, untied heads, ...); a tensor that is missing, unknown, there twice, or of another shape or type. */
bool gpt2_hf_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* config.json alone. Vp is V rounded up to a multiple of 128. */
bool gpt2_hf_config(struct gpt2_config *config, const char *path, struct gpt2_error *error);

/* Write both files in a folder, which is made if it is not there; the model last, so that a folder with a model in it is
 * whole. Tensors get the prefix, and the metadata that transformers asks for. end_of_text: the token that ends a text, for
 * config.json; negative: the last one, as GPT-2's is. */
bool gpt2_hf_write(const char *folder, const struct gpt2_source *source, enum gpt2_type type, int end_of_text,
                   struct gpt2_error *error);

#endif

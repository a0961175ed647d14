/* hf.h — a GPT-2 in a folder of Hugging Face's: config.json and model.safetensors. (Its tokenizer: tokenizer/tokenizer.h.)
 *
 * The weights may be in several files, which model.safetensors.index.json names; model.safetensors is read in its place if it
 * exists. Tensors may have the prefix "transformer." or not. With tie_word_embeddings, the default, lm_head.weight is
 * wte.weight: it may be absent; if present, it must hold the same numbers. The buffers h.*.attn.bias and h.*.attn.masked_bias,
 * the causal mask of old versions, are skipped. Linear weights are those of Conv1D: (in, out).
 */
#ifndef GPT2_HF_H
#define GPT2_HF_H

#include "gpt2/formats/weights.h"

/* path: the folder, or its .safetensors file. The types are F32, F16 and BF16, possibly mixed; or all matrices are in 8 bits.
 * Refused, with the file and the reason:
 *   - files that safetensors.h refuses, and an index that disagrees with its files;
 *   - a config.json that is invalid, lacks a size or describes another model (n_inner, cross attention, ...);
 *   - a tensor that is missing, unknown, present twice, or of another shape or type. */
bool gpt2_hf_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* config.json alone. Vp is V rounded up to a multiple of 128. */
bool gpt2_hf_config(struct gpt2_config *config, const char *path, struct gpt2_error *error);

/* eos_token_id of config.json or generation_config.json: a number or a list; *stops stays where there is none. */
bool gpt2_hf_stops(struct gpt2_stops *stops, const char *path, struct gpt2_error *error);

/* Weights in 8 bits (quantize.h): the type of NAME.weight is I8 or F8_E4M3, in its usual shape, and NAME.weight_scale has the
 * scales of its output channels in F32. With activations in 8 bits NAME.input_scale has the one scale of the product's input.
 * config.json has a quant_method of this program's, so that transformers refuses the folder. */

/* Writes both files to a folder, which is made if needed. The model is written last, so a folder with a model is complete.
 * Tensors have the prefix, and the metadata that transformers requires. end_of_text: the token that ends a text, for
 * config.json, where the source's config names none; negative: the last token, as in GPT-2. */
bool gpt2_hf_write(const char *folder, const struct gpt2_source *source, enum gpt2_type type, int end_of_text,
                   struct gpt2_error *error);

#endif

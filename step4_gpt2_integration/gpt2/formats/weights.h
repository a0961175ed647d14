/* weights.h — the weights of a GPT-2: its tensors, and the place of their bytes in a file.
 *
 * Both formats (Hugging Face, llm.c) are read into a struct gpt2_weights: views into the mapped file, without copies. A model
 * reads each tensor in the type and layout that it needs:
 *
 *     struct gpt2_weights weights;
 *     if (!gpt2_weights_open(&weights, "gpt2-124M", error)) { ... }
 *     gpt2_weights_read(&weights, GPT2_QKVW, layer, GPT2_BF16, GPT2_OUT_IN, staging, error);   // then copy it to a device
 *     gpt2_weights_close(&weights);
 *
 * A writer (hf.h, llmc.h) reads its tensors from a struct gpt2_source in the same way.
 */
#ifndef GPT2_WEIGHTS_H
#define GPT2_WEIGHTS_H

#include "gpt2/file.h"
#include "gpt2/formats/config.h"
#include "gpt2/formats/number.h"

/* In the order of llm.c's files. Each layer has its own LN1W to FCPROJB. */
enum gpt2_tensor {
    GPT2_WTE,      /* (V, C)   token embedding; also the output projection, unless that is untied */
    GPT2_WPE,      /* (T, C)   position embedding */
    GPT2_LN1W,     /* (C)      LayerNorm before attention */
    GPT2_LN1B,     /* (C) */
    GPT2_QKVW,     /* (3C, C)  the rows of Q, then K, then V, each by head */
    GPT2_QKVB,     /* (3C) */
    GPT2_ATTPROJW, /* (C, C)   from the heads, side by side, back to the channels */
    GPT2_ATTPROJB, /* (C) */
    GPT2_LN2W,     /* (C)      LayerNorm before the MLP */
    GPT2_LN2B,     /* (C) */
    GPT2_FCW,      /* (4C, C) */
    GPT2_FCB,      /* (4C) */
    GPT2_FCPROJW,  /* (C, 4C) */
    GPT2_FCPROJB,  /* (C) */
    GPT2_LNFW,     /* (C)      the last LayerNorm */
    GPT2_LNFB,     /* (C) */
    GPT2_HEAD,     /* (V, C)   the output projection of an untied model; else it does not exist */
    GPT2_TENSORS
};

/* Shapes above are (out, in), or rows and columns: y = W x + b. The storage of a linear layer's weight: */
enum gpt2_layout {
    GPT2_OUT_IN, /* row-major (out, in): llm.c, torch.nn.Linear; also of embeddings and vectors */
    GPT2_IN_OUT, /* its transpose, row-major (in, out): Conv1D of Hugging Face's GPT-2 */
};

/* Has each layer its own? If not, the layer is 0. */
bool gpt2_tensor_is_layered(enum gpt2_tensor tensor);

/* How many there are: L, 1, or 0 for the head of a tied model. */
int gpt2_tensor_layers(const struct gpt2_config *config, enum gpt2_tensor tensor);

/* Is it one of the four matrices with two layouts? Their number in a layer, from 0; -1: no. */
enum { GPT2_PRODUCTS = 4 };
bool gpt2_tensor_is_linear(enum gpt2_tensor tensor);
int gpt2_tensor_product(enum gpt2_tensor tensor);

/* 1 or 2. */
int gpt2_tensor_dimensions(enum gpt2_tensor tensor);

/* Rows and columns (1 for a vector) as listed above, wte with V rows. The head of a tied model has no rows. */
int64_t gpt2_tensor_rows(const struct gpt2_config *config, enum gpt2_tensor tensor);
int64_t gpt2_tensor_columns(const struct gpt2_config *config, enum gpt2_tensor tensor);
int64_t gpt2_tensor_elements(const struct gpt2_config *config, enum gpt2_tensor tensor);

/* Hugging Face's name without the prefix, "h.3.attn.c_attn.weight" or "lm_head.weight", in name[GPT2_NAME_BYTES]; and back.
 * find: false for an unknown name; it accepts any layer number below 2^31, which the caller checks. */
enum { GPT2_NAME_BYTES = 48 };
void gpt2_tensor_name(enum gpt2_tensor tensor, int layer, char *name);
bool gpt2_tensor_find(const char *name, enum gpt2_tensor *tensor, int *layer);

/* ---- views of the bytes ---- */

/* Weights in 8 bits are codes of one scheme (quantize.h). */
enum gpt2_scheme { GPT2_PLAIN, GPT2_INT8, GPT2_FP8 };

struct gpt2_view {
    const void *bytes;   /* rows * columns elements, possibly unaligned; NULL: missing */
    enum gpt2_type type; /* of codes: that of their scales, GPT2_F32 */
    enum gpt2_layout layout;
    int64_t rows, columns;   /* logical: (out, in) in either layout */
    enum gpt2_scheme scheme; /* GPT2_PLAIN: elements of `type`; else codes of a byte */
    const void *scales;      /* (rows) of GPT2_F32, possibly unaligned; NULL: plain */
};

struct gpt2_weights {
    struct gpt2_config config;
    struct gpt2_view *views; /* (GPT2_TENSORS, L); use gpt2_weights_view */
    struct gpt2_file file;   /* the mapped file; of a model in several files its index */
    struct gpt2_file *parts; /* (part_count) the files of such a model; else NULL */
    int part_count;
    enum gpt2_scheme scheme; /* of all tensors in 8 bits; GPT2_PLAIN: there are none */
    float *input_scales;     /* (L, GPT2_PRODUCTS), as of gpt2_source; NULL: there are none */
};

/* path: a folder (Hugging Face), a .safetensors file with config.json beside it, or a checkpoint of llm.c, recognised by its
 * magic. This checks all tensors: each is present once, with the right shape, inside the file. */
bool gpt2_weights_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void gpt2_weights_close(struct gpt2_weights *weights);

struct gpt2_view *gpt2_weights_view(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer);

/* Writes one tensor, V rows of wte, to `out` (rows * columns elements of `type`, aligned for it), in that type and layout.
 * False when finite values of the file become infinite in `type`. */
bool gpt2_weights_read(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                       enum gpt2_layout layout, void *out, struct gpt2_error *error);

/* The codes (rows, columns) and scales (rows) of a tensor in 8 bits, in GPT2_OUT_IN. False when a code or a scale is not
 * finite. */
bool gpt2_weights_codes(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer, uint8_t *codes,
                        float *scales, struct gpt2_error *error);

/* Are all values of plain weights finite? False: the message names the file, the tensor and the remedy. */
bool gpt2_weights_finite(const struct gpt2_weights *weights, struct gpt2_error *error);

/* The same as gpt2_weights_read for any view. Returns the number of finite values that became infinite. */
size_t gpt2_view_read(const struct gpt2_view *view, enum gpt2_type type, enum gpt2_layout layout, void *out);

/* For the readers of files: allocates the views of weights->config, all NULL. */
bool gpt2_weights_allocate(struct gpt2_weights *weights, struct gpt2_error *error);

/* ---- the source of a writer ---- */

/* `read` fills `out` as gpt2_weights_read does. A writer reads each tensor once, in its own order. Gradients and the
 * optimizer's moments have the same names and shapes and are saved in the same way. */
struct gpt2_source {
    struct gpt2_config config;
    bool (*read)(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                 void *out, struct gpt2_error *error);
    void *context;
    enum gpt2_scheme
        scheme; /* of the tensors in 8 bits (gpt2_tensor_in_codes); `read` decodes them. GPT2_PLAIN: there are none */
    bool (*read_codes)(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                       struct gpt2_error *error); /* as gpt2_weights_codes; NULL: plain */
    /* (L, GPT2_PRODUCTS): the inputs of these products are in 8 bits, too, each a code times its scale. NULL: they are not. With
     * GPT2_FP8 all scales of a matrix are then equal. */
    const float *input_scales;
    const char *calibration; /* for a writer: a JSON object that says how they were made; NULL: unknown */
};

/* The same source for a computation: where its config says scale_by_layer, the rows of Q of GPT2_QKVW and GPT2_QKVB, in
 * GPT2_OUT_IN, or the scales of their codes, are divided by the layer's number from 1, so that attention divides its scores by
 * it. Valid as long as *source is. */
struct gpt2_source gpt2_scaled_source(const struct gpt2_source *source);

/* Open weights as a source: a conversion writes one format from a source of the other. */
struct gpt2_source gpt2_weights_source(struct gpt2_weights *weights);

#endif

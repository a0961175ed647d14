/* weights.h — a GPT-2's weights: which tensors there are, and where the bytes of each one lie.
 *
 * Both kinds of file (Hugging Face, llm.c) give the same description, a struct gpt2_weights: views into the mapped file,
 * nothing copied. A model asks for each tensor in the type and layout that it wants:
 *
 *     struct gpt2_weights weights;
 *     if (!gpt2_weights_open(&weights, "gpt2-124M", error)) { ... }
 *     gpt2_weights_read(&weights, GPT2_QKVW, layer, GPT2_BF16, GPT2_OUT_IN, staging, error);   // then copy it to a device
 *     gpt2_weights_close(&weights);
 *
 * and gives its own tensors to a writer as a struct gpt2_source (hf.h, llmc.h), which asks for them in the same way.
 */
#ifndef GPT2_WEIGHTS_H
#define GPT2_WEIGHTS_H

#include "gpt2/file.h"
#include "gpt2/formats/config.h"
#include "gpt2/formats/number.h"

/* In the order of llm.c's files. Those from LN1W to FCPROJB are there once a layer. */
enum gpt2_tensor {
    GPT2_WTE,      /* (V, C)   token embedding; also the output projection, which is tied to it */
    GPT2_WPE,      /* (T, C)   position embedding */
    GPT2_LN1W,     /* (C)      LayerNorm before attention */
    GPT2_LN1B,     /* (C) */
    GPT2_QKVW,     /* (3C, C)  the rows of Q, then K, then V; in each, head after head */
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
    GPT2_TENSORS
};

/* Shapes above are (out, in), or rows and columns: y = W x + b. How a weight of a linear layer is stored: */
enum gpt2_layout {
    GPT2_OUT_IN, /* row-major (out, in): llm.c, torch.nn.Linear; what has no `in`, and both embeddings, have this one */
    GPT2_IN_OUT, /* its transpose, row-major (in, out): Conv1D of Hugging Face's GPT-2 */
};

/* Is it there once a layer? If not, its layer is 0. */
bool gpt2_tensor_is_layered(enum gpt2_tensor tensor);

/* Is it one of the four matrices that the two layouts differ for? */
bool gpt2_tensor_is_linear(enum gpt2_tensor tensor);

/* 1 or 2. */
int gpt2_tensor_dimensions(enum gpt2_tensor tensor);

/* Rows and columns (1 for a vector) as in the list above, wte with V rows. */
int64_t gpt2_tensor_rows(const struct gpt2_config *config, enum gpt2_tensor tensor);
int64_t gpt2_tensor_columns(const struct gpt2_config *config, enum gpt2_tensor tensor);
int64_t gpt2_tensor_elements(const struct gpt2_config *config, enum gpt2_tensor tensor);

/* Hugging Face's name without the prefix, "h.3.attn.c_attn.weight", into name[GPT2_NAME_BYTES]; and back. find: false when
 * no tensor is called that; any layer number below 2^31 is taken, the caller knows how many there are. */
enum { GPT2_NAME_BYTES = 48 };
void gpt2_tensor_name(enum gpt2_tensor tensor, int layer, char *name);
bool gpt2_tensor_find(const char *name, enum gpt2_tensor *tensor, int *layer);

/* ---- where the bytes are ---- */

struct gpt2_view {
    const void *bytes; /* rows * columns elements; may be unaligned; NULL: not there */
    enum gpt2_type type;
    enum gpt2_layout layout;
    int64_t rows, columns; /* logical: (out, in) whatever the layout */
};

struct gpt2_weights {
    struct gpt2_config config;
    struct gpt2_view *views; /* (GPT2_TENSORS, L); use gpt2_weights_view */
    struct gpt2_file file;   /* what they point into */
};

/* A folder (Hugging Face), a .safetensors file with config.json beside it, or a llm.c checkpoint, told by its magic. The
 * whole description is checked before this returns: every tensor is there, once, with the right shape and inside the file. */
bool gpt2_weights_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void gpt2_weights_close(struct gpt2_weights *weights);

struct gpt2_view *gpt2_weights_view(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer);

/* Write one tensor, V rows of wte, to `out` (rows * columns elements of `type`, aligned for it): converted and transposed
 * as asked. False when values that are finite in the file become infinite in `type`. */
bool gpt2_weights_read(const struct gpt2_weights *weights, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                       enum gpt2_layout layout, void *out, struct gpt2_error *error);

/* The same for any view: returns how many finite values became infinite. */
size_t gpt2_view_read(const struct gpt2_view *view, enum gpt2_type type, enum gpt2_layout layout, void *out);

/* For the readers of files: room for the views of weights->config, all of them NULL. */
bool gpt2_weights_allocate(struct gpt2_weights *weights, struct gpt2_error *error);

/* ---- what a writer takes its tensors from ---- */

/* `read` fills `out` as gpt2_weights_read does; the writer asks for each tensor once, in an order of its own. It is also
 * how gradients and the optimizer's moments are saved: they have the same names and shapes. */
struct gpt2_source {
    struct gpt2_config config;
    bool (*read)(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                 void *out, struct gpt2_error *error);
    void *context;
};

/* Weights that are open, as a source: a conversion is a writer of one format on the source of another. */
struct gpt2_source gpt2_weights_source(struct gpt2_weights *weights);

#endif

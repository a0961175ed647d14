/* model.h — the passes of a whole GPT-2 in float64, for gpt2_forward and gpt2_decode. */
#ifndef OP_MODEL_H
#define OP_MODEL_H

#include "transformer.h"

op_compute model_forward, model_decode;

#endif

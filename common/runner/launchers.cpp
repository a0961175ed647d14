#include "launchers.h"

#include <string.h>

/* Every op that has a contract, once: those of fp32 alone, and those of all types. */
#define FOR_EACH_FLOAT_OP(use) use(residual_forward) use(row_sum) use(row_sum_squares) use(row_dot) use(bias_add)
#define FOR_EACH_TYPED_OP(use)                                                                                \
    use(softmax_forward) use(softmax_backward) use(causal_softmax_forward) use(causal_softmax_backward)       \
        use(layernorm_forward) use(layernorm_backward) use(residual_layernorm_forward)                        \
            use(residual_layernorm_backward) use(layernorm_residual_forward) use(layernorm_residual_backward) \
                use(bias_gelu_forward) use(bias_gelu_backward) use(three_way_add) use(attention_forward)      \
                    use(decode_attention) use(block_forward) use(block_backward) use(gpt2_forward) use(gpt2_decode)

#define USE_F32(use, op)   use(op##_f32, op, TYPE_F32)
#define USE_TYPES(use, op) use(op##_f32, op, TYPE_F32) use(op##_f16, op, TYPE_F16) use(op##_bf16, op, TYPE_BF16)

/* Weak before they are declared, so that the lab file may define some of them only. */
#define PRAGMA(text)                _Pragma(#text)
#define WEAK(launcher, op, of_type) PRAGMA(weak launcher) PRAGMA(weak launcher##_rung)
#define WEAK_FLOAT(op)              USE_F32(WEAK, op)
#define WEAK_TYPED(op)              USE_TYPES(WEAK, op)
FOR_EACH_FLOAT_OP(WEAK_FLOAT)
FOR_EACH_TYPED_OP(WEAK_TYPED)

#include "../contracts/attention_forward.h"
#include "../contracts/bias_add.h"
#include "../contracts/bias_gelu_backward.h"
#include "../contracts/bias_gelu_forward.h"
#include "../contracts/block_backward.h"
#include "../contracts/block_forward.h"
#include "../contracts/causal_softmax_backward.h"
#include "../contracts/causal_softmax_forward.h"
#include "../contracts/decode_attention.h"
#include "../contracts/gpt2_decode.h"
#include "../contracts/gpt2_forward.h"
#include "../contracts/layernorm_backward.h"
#include "../contracts/layernorm_forward.h"
#include "../contracts/layernorm_residual_backward.h"
#include "../contracts/layernorm_residual_forward.h"
#include "../contracts/residual_forward.h"
#include "../contracts/residual_layernorm_backward.h"
#include "../contracts/residual_layernorm_forward.h"
#include "../contracts/row_dot.h"
#include "../contracts/row_sum.h"
#include "../contracts/row_sum_squares.h"
#include "../contracts/softmax_backward.h"
#include "../contracts/softmax_forward.h"
#include "../contracts/three_way_add.h"

namespace {

/* Hands out a contract's arguments in its order: tensors; the ints that the op's letters say; eps, or scale; the stream. */
struct arguments {
    void *const *tensor;
    const op_sizes *sizes;
    const char *ints;
    bool causal;
    cudaStream_t stream;

    template <typename T> T next(T *) { return static_cast<T>(*tensor++); } /* a pointer */
    float next(float *) { return causal ? sizes->scale : sizes->eps; }
    cudaStream_t next(cudaStream_t *) { return stream; }
    int next(int *) { return op_size(sizes, *ints++); }
};

template <typename T> T next(arguments &from) {
    return from.next(static_cast<T *>(nullptr));
}

/* A list in braces is evaluated from left to right, unlike the arguments of a call. */
template <typename... Arguments> struct call {
    int status;
    call(int (*function)(Arguments...), Arguments... values) : status(function(values...)) {}
};

template <typename... Arguments> int call_launcher(int (*function)(Arguments...), arguments from) {
    return call<Arguments...>{function, next<Arguments>(from)...}.status;
}

template <typename... Arguments> int call_rung(int (*function)(int, Arguments...), int rung, arguments from) {
    return call<int, Arguments...>{function, rung, next<Arguments>(from)...}.status;
}

template <typename Function> struct ladder_of;
template <typename... Arguments> struct ladder_of<int(Arguments...)> { typedef int type(int rung, Arguments...); };

struct entry {
    const char *op;
    op_type type;
    bool has_launcher, has_ladder;
    launcher *function;
};

} // namespace

#define LADDER(launcher, op, of_type) extern "C" ladder_of<decltype(launcher)>::type launcher##_rung;
#define LADDER_FLOAT(op)              USE_F32(LADDER, op)
#define LADDER_TYPED(op)              USE_TYPES(LADDER, op)
FOR_EACH_FLOAT_OP(LADDER_FLOAT)
FOR_EACH_TYPED_OP(LADDER_TYPED)

#define ADAPTER(launcher, op, of_type)                                                                         \
    static int adapt_##launcher(int rung, void *const tensors[], const op_sizes *sizes, cudaStream_t stream) { \
        const auto *about = op_find(#op);                                                                      \
        arguments from = {tensors, sizes, about->ints, op_is_causal(about), stream};                           \
        return rung > 0 ? call_rung(launcher##_rung, rung, from) : call_launcher(launcher, from);              \
    }
#define ADAPTER_FLOAT(op) USE_F32(ADAPTER, op)
#define ADAPTER_TYPED(op) USE_TYPES(ADAPTER, op)
FOR_EACH_FLOAT_OP(ADAPTER_FLOAT)
FOR_EACH_TYPED_OP(ADAPTER_TYPED)

#define ENTRY(launcher, op, of_type) {#op, of_type, launcher != nullptr, launcher##_rung != nullptr, adapt_##launcher},
#define ENTRY_FLOAT(op)              USE_F32(ENTRY, op)
#define ENTRY_TYPED(op)              USE_TYPES(ENTRY, op)

launcher *launcher_find(const char *op, enum op_type type, int rung) {
    const entry table[] = {FOR_EACH_FLOAT_OP(ENTRY_FLOAT) FOR_EACH_TYPED_OP(ENTRY_TYPED)};
    for (const entry &e : table) {
        if (strcmp(e.op, op) != 0 || e.type != type) { continue; }
        return (rung > 0 ? e.has_ladder : e.has_launcher) ? e.function : nullptr;
    }
    return nullptr;
}

#include "launchers.h"

#include <string.h>

/* Weak before they are declared, so that the lab file may define some of them only. */
#define WEAK_LAUNCHER(op) _Pragma_(weak op##_f32) _Pragma_(weak op##_f32_rung)
#define _Pragma_(text)    _Pragma(#text)

/* Every op that has a contract, once. */
#define FOR_EACH_OP(use)                                                                                   \
    use(residual_forward) use(softmax_forward) use(layernorm_forward) use(layernorm_backward) use(row_sum) \
        use(row_sum_squares) use(row_dot) use(bias_add)

FOR_EACH_OP(WEAK_LAUNCHER)

#include "../contracts/bias_add.h"
#include "../contracts/layernorm_backward.h"
#include "../contracts/layernorm_forward.h"
#include "../contracts/residual_forward.h"
#include "../contracts/row_dot.h"
#include "../contracts/row_sum.h"
#include "../contracts/row_sum_squares.h"
#include "../contracts/softmax_forward.h"

namespace {

/* Hands out a contract's arguments in its order: tensors, then N and C, then eps, then the stream. */
struct arguments {
    float *const *tensor;
    const op_sizes *sizes;
    cudaStream_t stream;
    int ints = 0;

    template <typename T> T next();
};

template <> float *arguments::next() {
    return *tensor++;
}
template <> const float *arguments::next() {
    return *tensor++;
}
template <> int arguments::next() {
    return ints++ == 0 ? sizes->N : sizes->C;
}
template <> float arguments::next() {
    return sizes->eps;
}
template <> cudaStream_t arguments::next() {
    return stream;
}

/* A list in braces is evaluated from left to right, unlike the arguments of a call. */
template <typename... Arguments> struct call {
    int status;
    call(int (*function)(Arguments...), Arguments... values) : status(function(values...)) {}
};

template <typename... Arguments> int call_launcher(int (*function)(Arguments...), arguments from) {
    return call<Arguments...>{function, from.next<Arguments>()...}.status;
}

template <typename... Arguments> int call_rung(int (*function)(int, Arguments...), int rung, arguments from) {
    return call<int, Arguments...>{function, rung, from.next<Arguments>()...}.status;
}

template <typename Function> struct ladder_of;
template <typename... Arguments> struct ladder_of<int(Arguments...)> { typedef int type(int rung, Arguments...); };

struct entry {
    const char *op;
    bool has_launcher, has_ladder;
    launcher *function;
};

} // namespace

#define DECLARE_LADDER(op) extern "C" ladder_of<decltype(op##_f32)>::type op##_f32_rung;
FOR_EACH_OP(DECLARE_LADDER)

#define ADAPTER(op)                                                                                       \
    static int adapt_##op(int rung, float *const tensors[], const op_sizes *sizes, cudaStream_t stream) { \
        arguments from = {tensors, sizes, stream};                                                        \
        return rung > 0 ? call_rung(op##_f32_rung, rung, from) : call_launcher(op##_f32, from);           \
    }
FOR_EACH_OP(ADAPTER)

#define ENTRY(op) {#op, op##_f32 != nullptr, op##_f32_rung != nullptr, adapt_##op},

launcher *launcher_find(const char *op, int rung) {
    const entry table[] = {FOR_EACH_OP(ENTRY)};
    for (const entry &e : table) {
        if (strcmp(e.op, op) == 0) { return (rung > 0 ? e.has_ladder : e.has_launcher) ? e.function : nullptr; }
    }
    return nullptr;
}

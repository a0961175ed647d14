#include "launchers.h"

#include <string.h>

/* Every launcher of every contract is declared weak first, so that a lab file may define only some of them. */
#define PRAGMA(text)     _Pragma(#text)
#define LAUNCHER(op, of) PRAGMA(weak op##_##of) PRAGMA(weak op##_##of##_rung)
#define LAUNCHERS_ONLY
#include "ops/launchers.h"
#undef LAUNCHERS_ONLY
#undef LAUNCHER

#define LAUNCHER(op, of)
#include "ops/launchers.h"
#undef LAUNCHER

namespace {

/* Hands out a contract's arguments in its order: tensors, the op's scalars, the stream. */
struct arguments {
    void *const *tensor;
    const struct op *op;
    const op_sizes *sizes;
    cudaStream_t stream;
    int scalar;

    template <typename T> T next(T *) { return static_cast<T>(*tensor++); } /* a pointer */
    float next(float *) { return (float)op_scalar_get(op, sizes, scalar++); }
    int next(int *) { return (int)op_scalar_get(op, sizes, scalar++); }
    cudaStream_t next(cudaStream_t *) { return stream; }
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

/* A launcher's arguments as letters: p a pointer, i an int, f a float, s the stream. */
template <typename T> struct letter_of { static const char value = 'p'; };
template <> struct letter_of<int> { static const char value = 'i'; };
template <> struct letter_of<float> { static const char value = 'f'; };
template <> struct letter_of<cudaStream_t> { static const char value = 's'; };
template <typename Function> struct signature_of;
template <typename... Arguments> struct signature_of<int(Arguments...)> {
    static const char *text() {
        static const char letters[] = {letter_of<Arguments>::value..., '\0'};
        return letters;
    }
};

struct entry {
    const char *op;
    op_type type;
    bool has_launcher, has_ladder;
    launcher *function;
    const char *signature;
};

const op_type type_f32 = TYPE_F32, type_f16 = TYPE_F16, type_bf16 = TYPE_BF16;

} // namespace

#define LAUNCHERS_ONLY
#define LAUNCHER(op, of) extern "C" ladder_of<decltype(op##_##of)>::type op##_##of##_rung;
#include "ops/launchers.h"
#undef LAUNCHER

#define LAUNCHER(op, of)                                                                                        \
    static int adapt_##op##_##of(int rung, void *const tensors[], const op_sizes *sizes, cudaStream_t stream) { \
        arguments from = {tensors, op_find(#op), sizes, stream, 0};                                             \
        return rung > 0 ? call_rung(op##_##of##_rung, rung, from) : call_launcher(op##_##of, from);             \
    }
#include "ops/launchers.h"
#undef LAUNCHER

static const entry *entry_find(const char *op, enum op_type type) {
#define LAUNCHER(op, of)          \
    {#op,                         \
     type_##of,                   \
     op##_##of != nullptr,        \
     op##_##of##_rung != nullptr, \
     adapt_##op##_##of,           \
     signature_of<decltype(op##_##of)>::text()},
    static const entry table[] = {
#include "ops/launchers.h"
    };
    for (const entry &e : table) {
        if (strcmp(e.op, op) == 0 && e.type == type) { return &e; }
    }
    return nullptr;
}

launcher *launcher_find(const char *op, enum op_type type, int rung) {
    const entry *e = entry_find(op, type);
    return e && (rung > 0 ? e->has_ladder : e->has_launcher) ? e->function : nullptr;
}

const char *launcher_signature(const char *op, enum op_type type) {
    const entry *e = entry_find(op, type);
    return e ? e->signature : nullptr;
}

/* table.h — a kernel set: a table of the hand-written kernels that the model calls.
 *
 * A set is a shared object that exports one symbol, gpt2_kernel_set, and hides all others, because all sets define the same
 * names. The sets are naive (an op at a time, a thread per row), reference (lab 3's solution) and lab (the learner's). An op is
 * a launcher of common/contracts, in three types. An op that a set lacks is a null pointer; the model then takes it from
 * another set (load.h).
 */
#ifndef GPT2_KERNELS_TABLE_H
#define GPT2_KERNELS_TABLE_H

#include <stddef.h>

#include "ops/bias_gelu_backward/contract.h"
#include "ops/bias_gelu_forward/contract.h"
#include "ops/causal_softmax_backward/contract.h"
#include "ops/causal_softmax_forward/contract.h"
#include "ops/layernorm_backward/contract.h"
#include "ops/layernorm_forward/contract.h"
#include "ops/residual_layernorm_backward/contract.h"
#include "ops/residual_layernorm_forward/contract.h"

/* X(op) for each op, in the order of the table's fields. */
#define KERNEL_OPS(X)              \
    X(layernorm_forward)           \
    X(residual_layernorm_forward)  \
    X(bias_gelu_forward)           \
    X(causal_softmax_forward)      \
    X(layernorm_backward)          \
    X(residual_layernorm_backward) \
    X(bias_gelu_backward)          \
    X(causal_softmax_backward)

enum { KERNEL_TABLE_VERSION = 1 };

#define KERNEL_COUNT(op) +1
enum { KERNEL_OP_COUNT = 0 KERNEL_OPS(KERNEL_COUNT) };
#undef KERNEL_COUNT

/* The ops of one type. Each field has the type of its contract's launcher. */
#define KERNEL_FIELD(op) __typeof__(&op##_f32) op;
struct kernels_f32 {
    KERNEL_OPS(KERNEL_FIELD)
};
#undef KERNEL_FIELD
#define KERNEL_FIELD(op) __typeof__(&op##_f16) op;
struct kernels_f16 {
    KERNEL_OPS(KERNEL_FIELD)
};
#undef KERNEL_FIELD
#define KERNEL_FIELD(op) __typeof__(&op##_bf16) op;
struct kernels_bf16 {
    KERNEL_OPS(KERNEL_FIELD)
};
#undef KERNEL_FIELD

struct kernel_table {
    int version; /* KERNEL_TABLE_VERSION of the header at its build */
    const char *name;
    struct kernels_f32 f32;
    struct kernels_f16 f16;
    struct kernels_bf16 bf16;
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct kernel_table gpt2_kernel_set;
#ifdef __cplusplus
}
#endif

#endif

/* table.c — the symbol that a kernel set exports, compiled once for each set with -DKERNEL_SET="name". The references are weak,
 * so an op that the set does not define is a null pointer. */
#include "table.h"

#define WEAK(name)     extern __typeof__(name) name __attribute__((weak, visibility("hidden")));
#define WEAK_TYPES(op) WEAK(op##_f32) WEAK(op##_f16) WEAK(op##_bf16)
KERNEL_OPS(WEAK_TYPES)

#define F32(op)  .op = op##_f32,
#define F16(op)  .op = op##_f16,
#define BF16(op) .op = op##_bf16,

__attribute__((visibility("default"))) const struct kernel_table gpt2_kernel_set = {
    .version = KERNEL_TABLE_VERSION,
    .name = KERNEL_SET,
    .f32 = {KERNEL_OPS(F32)},
    .f16 = {KERNEL_OPS(F16)},
    .bf16 = {KERNEL_OPS(BF16)},
};

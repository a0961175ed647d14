/* ops: what holds for every description. The byte floors are in the ops' own tests. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/ops/ops.h"

TestSuite(ops, .timeout = 20);

Test(ops, statistics_and_gradients_of_parameters_are_float_in_every_type) {
    static const char *const names[] = {"mean", "rstd", "dweight", "dbias"};
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int t = op_tensor_find(op, names[i]);
            if (t >= 0) { cr_assert_eq(op_element_bytes(op, t, TYPE_F16), 4u, "%s: %s", op->name, names[i]); }
        }
        cr_assert(op->types >> TYPE_F32 & 1, "%s", op->name);
        bool gradient = strcmp(op->name, "block_backward") == 0; /* a parameter's comes first */
        cr_assert_eq(op_element_bytes(op, 0, TYPE_BF16), gradient ? 4u : 2u);
    }
}

Test(ops, launchers_are_named_by_op_and_type) {
    char name[64];
    op_launcher_name(op_find("residual_layernorm_forward"), TYPE_BF16, name, sizeof name);
    cr_assert_str_eq(name, "residual_layernorm_forward_bf16");
    cr_assert_null(op_find("residual_layernorm_forward_bf16"));
}

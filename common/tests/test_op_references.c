/* op_references: what every folder of common/ops must have: a sound description, a contract that agrees with it, and tests of
 * its reference. This program is linked with the tests of all folders, common/ops/NAME/tests/test_NAME.c.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ops/ops.h"
#include "common/runner/launchers.h"

TestSuite(op_references, .timeout = 60);

Test(op_references, every_description_is_sound) {
    for (int k = 0; ops[k]; k++) {
        char text[256];
        cr_assert(op_is_sound(ops[k], text, sizeof text), "%s: %s", ops[k]->name, text);
    }
}

/* ---- contracts ---- */

/* A letter per tensor and scalar, and the stream's: see launcher_signature(). */
static void signature_of(const struct op *op, char *text) {
    memset(text, 'p', (size_t)op_tensor_count(op));
    text += op_tensor_count(op);
    for (int i = 0; i < op_scalar_count(op); i++) { *text++ = op_scalar_at(op, i)->is_float ? 'f' : 'i'; }
    strcpy(text, "s");
}

Test(op_references, every_contract_declares_the_launchers_described) {
    for (int k = 0; ops[k]; k++) {
        char described[128];
        signature_of(ops[k], described);
        for (int type = 0; type < OP_TYPES; type++) {
            const char *declared = launcher_signature(ops[k]->name, (enum op_type)type);
            const char *expected = ops[k]->types >> type & 1 ? described : "none";
            cr_assert_str_eq(declared ? declared : "none", expected, "%s_%s: contract.h declares %s, op.c describes %s",
                             ops[k]->name, op_type_name((enum op_type)type), declared ? declared : "none", expected);
        }
    }
}

/* ---- tests: the tests linked into this program are between these symbols of the linker; Criterion lists them so ---- */

extern struct criterion_test *const __start_cr_tst[], *const __stop_cr_tst[];

/* Is there a test in the suite of this op, from its own file? `name`: with that name; NULL: with any. */
static bool is_tested(const struct op *op, const char *name) {
    char file[256];
    snprintf(file, sizeof file, "common/ops/%s/tests/test_%s.c", op->name, op->name);
    for (struct criterion_test *const *test = __start_cr_tst; test < __stop_cr_tst; test++) {
        if (!*test || strcmp((*test)->category, op->name) != 0) { continue; }
        const char *from = strstr((*test)->data->file_, "common/ops/");
        bool is_own = from && strcmp(from, file) == 0 && access((*test)->data->file_, R_OK) == 0;
        if (is_own && (!name || strcmp((*test)->name, name) == 0)) { return true; }
    }
    return false;
}

Test(op_references, every_op_has_tests_of_its_own) {
    for (int k = 0; ops[k]; k++) {
        const char *name = ops[k]->name;
        cr_assert(is_tested(ops[k], NULL), "common/ops/%s/tests/test_%s.c has no test in a suite %s", name, name, name);
    }
}

Test(op_references, every_gradient_is_compared_with_finite_differences) {
    int count = 0;
    for (int k = 0; ops[k]; k++) {
        if (!strstr(ops[k]->name, "_backward")) { continue; }
        cr_assert(is_tested(ops[k], "agrees_with_finite_differences"), "%s", ops[k]->name);
        count++;
    }
    cr_assert_geq(count, 7);
}

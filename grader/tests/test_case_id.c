/* case_id: a case's word determines the call, and a word that means no call is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../case_id.h"

TestSuite(case_id, .timeout = 60);

static const struct op *op;
static struct test_case test;
static char error[256];

static bool reads(const char *word) {
    error[0] = '\0';
    return case_read(word, &op, &test, error, sizeof error);
}

struct inputs {
    float *tensor[OP_MAX_TENSORS];
};

static struct inputs fill(const struct op *of, const struct test_case *from) {
    struct inputs inputs = {{NULL}};
    for (int t = 0; t < op_tensor_count(of); t++) {
        inputs.tensor[t] = calloc(op_elements(of, t, &from->sizes) + 1, sizeof(float));
    }
    inputs_fill(of, &from->sizes, from->values, from->seed, inputs.tensor);
    return inputs;
}

/* Every tensor has the same elements. */
static void assert_same_inputs(const struct op *of, const struct test_case *a, const struct test_case *b,
                               const char *word) {
    struct inputs first = fill(of, a), second = fill(of, b);
    for (int t = 0; t < op_tensor_count(of); t++) {
        size_t count = op_elements(of, t, &a->sizes), bytes = count * sizeof(float);
        cr_assert_eq(count, op_elements(of, t, &b->sizes), "%s: %s", word, of->tensor[t].name);
        cr_assert_eq(memcmp(first.tensor[t], second.tensor[t], bytes), 0, "%s: %s", word, of->tensor[t].name);
        free(first.tensor[t]);
        free(second.tensor[t]);
    }
}

/* All fixed cases of all ops and types. */
Test(case_id, round_trips) {
    static struct test_case cases[EVIDENCE_MAX_CASES];
    int compared = 0;
    for (int k = 0; ops[k]; k++) {
        for (int type = 0; type < OP_TYPES; type++) {
            if (!(ops[k]->types >> type & 1)) { continue; }
            for (int kind = CHECK_SHAPES; kind <= CHECK_SECRET; kind++) {
                int count =
                    cases_of(ops[k], (enum op_type)type, (enum check_kind)kind, 7, 8, cases, EVIDENCE_MAX_CASES);
                for (int i = 0; i < count; i++) {
                    char word[CASE_ID_BYTES], again[CASE_ID_BYTES];
                    case_id(ops[k], &cases[i], word);
                    cr_assert(reads(word), "%s: %s", word, error);
                    cr_assert_eq(op, ops[k], "%s", word);
                    cr_assert_str_eq(case_id(op, &test, again), word);
                    bool large = (long)test.sizes.N * test.sizes.C > 4096;
                    if (!large) { assert_same_inputs(op, &cases[i], &test, word); }
                    compared += !large;
                }
            }
        }
    }
    cr_assert_gt(compared, 500, "%d", compared);
}

Test(case_id, names_what_is_unusual) {
    cr_assert(
        reads("residual_layernorm_forward_bf16:N=3,C=40,eps=0.25,values=peak,offset=1,moved=weight,shared=sum:residual,"
              "rehearsed,seed=ff"),
        "%s", error);
    cr_expect_str_eq(op->name, "residual_layernorm_forward");
    cr_expect_eq(test.sizes.type, TYPE_BF16);
    cr_expect(test.sizes.N == 3 && test.sizes.C == 40 && test.sizes.eps == 0.25f);
    cr_expect_eq(test.values, VALUES_PEAK);
    cr_expect_eq(test.moved - 1, op_tensor_find(op, "weight"));
    cr_expect(test.output == op_tensor_find(op, "sum") && test.in_place - 1 == op_tensor_find(op, "residual"));
    cr_expect(test.rehearsed && !test.refused && test.seed == 255);
}

Test(case_id, refuses_what_is_no_case) {
    static const struct {
        const char *word, *says;
    } wrong[] = {{"", "colon"},
                 {"softmax_forward_f32", "colon"},
                 {"softmax_backwards_f32:N=1,C=1,seed=1", "no launcher"},
                 {"residual_forward_bf16:N=1,C=1,seed=1", "no launcher"},
                 {"softmax_forward_f32:N=1,C=1", "seed"},
                 {"softmax_forward_f32:N=1,C=1,seed=x", "hexadecimal"},
                 {"softmax_forward_f32:N=1,C=0,seed=1", "sizes"},
                 {"softmax_forward_f32:N=-1,C=4,seed=1", "N=-1"},
                 {"softmax_forward_f32:N=16777216,C=16777216,seed=1", "sizes"},
                 {"softmax_forward_f32:N=1,C=4,eps2=1,seed=1", "eps2"},
                 {"softmax_forward_f32:N=1,C=4,values=pork,seed=1", "pork"},
                 {"layernorm_forward_f32:N=1,C=4,values=finite-masks,seed=1", "finite-masks"},
                 {"softmax_forward_f32:N=1,C=4,shared=x:out,seed=1", "contract"},
                 {"softmax_forward_f32:N=1,C=4,moved=y,seed=1", "no tensor y"},
                 {"softmax_forward_f32:N=1,C=4,offset=100,seed=1", "offset"},
                 {"softmax_forward_f32:N=1,C=4,lengths,seed=1", "lengths"},
                 {"softmax_forward_f32:N=1,C=4,seed=1,", "nothing"},
                 {"attention_forward_f32:B=1,T=4,H=0,D=4,S=4,seed=1", "sizes"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect(!reads(wrong[i].word), "%s", wrong[i].word);
        cr_expect(strstr(error, wrong[i].says), "%s: %s", wrong[i].word, error);
    }
}

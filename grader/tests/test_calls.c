/* calls: the sentence about the wrong calls holds for every recorded call, and is not written where none does. */
#include <criterion/criterion.h>

#include "../calls.h"

TestSuite(calls, .timeout = 30);

enum { MOST = 32 };

static struct evidence_case cases[MOST];
static struct evidence evidence;
static char text[256];

static struct test_case *call(int N, int C, bool wrong) {
    struct evidence_case *shown = &cases[evidence.count];
    *shown = (struct evidence_case){.test.sizes = {.N = N, .C = C, .eps = 1e-5f}, .returned = true};
    shown->failure.kind = wrong ? FAILURE_WRONG : FAILURE_NONE;
    evidence.cases[evidence.count++] = shown;
    return &shown->test;
}

static const char *described(void) {
    calls_describe(&evidence, text, sizeof text);
    return text;
}

static void begin(void) {
    evidence = (struct evidence){.op = op_find("layernorm_forward")};
}

Test(calls, a_threshold_is_named, .init = begin) {
    for (int C = 100; C <= 2000; C += 100) { call(3, C, C > 1024); }
    cr_assert_str_eq(described(), "every wrong call is one with C >= 1100");
}

/* One size is no bound. A bound has no right call behind it, and few sizes are no multiples. */
Test(calls, a_size_is_no_bound_by_itself, .init = begin) {
    for (int i = 0; i < 12; i++) { call(1 + i % 4, i < 2 ? 700 : 20 + i, i < 2); }
    cr_assert_str_eq(described(), "every wrong call is one with C = 700");
    begin();
    for (int i = 0; i < 12; i++) { call(1 + i % 4, i == 0 ? 700 : 20 + i, i == 0); }
    cr_assert_str_empty(described());
    begin();
    for (int i = 0; i < 12; i++) { call(3, i < 2 ? 700 + i : 20 + i, i < 2); }
    call(3, 900, false);
    cr_assert_str_empty(described());
    begin();
    for (int i = 0; i < 12; i++) { call(i % 4 + 1, 20, i % 2 == 1); }
    cr_assert_str_empty(described());
}

Test(calls, a_modulus_is_named, .init = begin) {
    for (int C = 30; C < 50; C++) { call(3, C, C % 4 != 0); }
    cr_assert_str_eq(described(), "every wrong call is one where C is no multiple of 4");
}

Test(calls, several_rows_are_named, .init = begin) {
    for (int N = 1; N < 4; N++) {
        call(N, 30 + N, N > 1);
        call(N, 20 - N, N > 1);
    }
    cr_assert_str_eq(described(), "every wrong call is one with N >= 2");
}

Test(calls, kinds_of_calls_are_named, .init = begin) {
    for (int i = 0; i < 6; i++) { call(3, 20 + i, i % 2)->in_place = i % 2 ? 1 : 0; }
    cr_assert_str_eq(described(), "every wrong call is one in place");
    cr_assert(calls_share_a_path(&evidence));
    begin();
    for (int i = 0; i < 6; i++) { call(3, 20 + i % 3, i % 2)->sizes.eps = i % 2 ? 0.125f : 1e-5f; }
    cr_assert_str_eq(described(), "every wrong call is one with another eps than 1e-05");
    cr_assert_not(calls_share_a_path(&evidence));
    begin();
    for (int i = 0; i < 6; i++) { call(3, 20, i % 2)->values = i % 2 ? VALUES_EQUAL : VALUES_NORMAL; }
    cr_assert(strstr(described(), "with values "), "%s", text);
}

Test(calls, the_only_moved_pointer_is_named, .init = begin) {
    for (int tensor = 0; tensor < 4; tensor++) {
        for (int C = 20; C < 100; C += 20) {
            struct test_case *test = call(3, C, tensor == 2 && C == 20);
            test->offset = 1;
            test->moved = tensor;
        }
    }
    cr_assert_str_eq(described(),
                     "every wrong call is one where mean is the only pointer that is no multiple of 16 bytes");
}

/* Of causal calls about half have zeros above the diagonal: one wrong call of them has another cause. */
Test(calls, a_kind_of_half_the_right_calls_needs_several_wrong_ones) {
    for (int wrong = 1; wrong <= 3; wrong++) {
        evidence = (struct evidence){.op = op_find("causal_softmax_forward")};
        for (int i = 0; i < 12; i++) { call(3, 20, false)->sizes.upper = i % 2; }
        for (int i = 0; i < wrong; i++) { call(3, 20 + 7 * i * i, true)->sizes.upper = 1; }
        if (wrong == 1) {
            cr_assert_str_empty(described());
        } else {
            cr_assert_str_eq(described(), "every wrong call is one with CAUSAL_UPPER_KEEP");
        }
    }
}

Test(calls, a_size_that_most_right_calls_have_says_nothing, .init = begin) {
    for (int i = 0; i < 28; i++) { call(3, i < 7 ? 20 : 30 + i, i == 0 || i == 1); }
    cr_assert_str_empty(described());
}

Test(calls, nothing_is_said_where_all_or_one_kind_of_calls_fail, .init = begin) {
    for (int i = 0; i < 6; i++) { call(3, 20 + i, true); }
    cr_assert_str_empty(described());
    begin();
    for (int i = 0; i < 20; i++) { call(3, 20 + i % 5, i % 3 == 0); }
    cr_assert_str_empty(described());
}

/* A call without rows, or with a launch that is refused, computes nothing, so it is no evidence of a right path. */
Test(calls, empty_calls_are_no_evidence, .init = begin) {
    for (int i = 0; i < 4; i++) { call(0, 20 + i, false); }
    for (int i = 0; i < 4; i++) { call(3, 20 + i, true); }
    cr_assert_str_empty(described());
}

Test(calls, outputs_that_are_right_in_every_call_are_named, .init = begin) {
    for (int i = 0; i < 3; i++) {
        call(3, 20 + i, true);
        cases[i].wrong[0] = 5;
    }
    cr_assert(results_describe(&evidence, text, sizeof text));
    cr_assert_str_eq(text, "right in every call: mean, rstd; wrong: out");
    cases[2].wrong[1] = 1;
    results_describe(&evidence, text, sizeof text);
    cr_assert_str_eq(text, "right in every call: rstd; wrong: out, mean");
    cases[1].returned = false; /* what it wrote is not known */
    cr_assert(!results_describe(&evidence, text, sizeof text));
}

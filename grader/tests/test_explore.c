/* explore: the cases for a traced program's branches. The traced program is a function here: it says which branches a call
 * takes, from the call's sizes, pointers and data. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../explore.h"
#include "common/runner/generate.h"

TestSuite(explore, .timeout = 120);

enum {
    ATOM_ALWAYS = 11,
    ATOM_WIDE,     /* C > 6000 */
    ATOM_POINT,    /* C == 1337, and a traced comparison of C with 1337 */
    ATOM_ROWS,     /* more than 1500 blocks of 64 rows */
    ATOM_ALIGNED,  /* no tensor is moved, and 4 divides C */
    ATOM_IN_PLACE, /* out is x, and C > 500 */
    ATOM_DATA,     /* the first element of x is positive */
    ATOM_FALLBACK, /* a row does not fit into the device's shared memory */
};

static struct trace trace;
static bool compares; /* the comparison is traced */
static bool is_silent;

static void reach(int atom) {
    trace.atoms[trace.atom_count++] = generate_mix((uint64_t)atom);
}

static void compare(uint64_t site, int64_t a, int64_t b) {
    trace.comparisons[trace.comparison_count++] = (struct comparison){site, {a, b}, {a, b}};
}

static int shared_floats = 227 << 8;

static enum child_status call(void *context, const struct job *job, void *const buffers[], struct result *result,
                              struct finding_record **findings) {
    (void)context;
    int N = job->sizes.N, C = job->sizes.C, blocks = (N + 63) / 64;
    const float *x = buffers[op_tensor_find(op_find(job->op), "x")];
    memset(result, 0, sizeof *result);
    *findings = NULL;
    trace.atom_count = trace.comparison_count = 0;
    if (is_silent) { return CHILD_CRASHED; }
    result->block_events = 100 + (uint64_t)N * (uint64_t)C;
    reach(ATOM_ALWAYS);
    if (C > 6000) { reach(ATOM_WIDE); }
    if (C == 1337) { reach(ATOM_POINT); }
    if (blocks > 1500) { reach(ATOM_ROWS); }
    if (C % 4 == 0 && job->offset == 0) { reach(ATOM_ALIGNED); }
    if (job->alias_of[0] >= 0 && C > 500) { reach(ATOM_IN_PLACE); }
    if (N > 0 && x[0] > 0.0f) { reach(ATOM_DATA); }
    if (C > shared_floats) { reach(ATOM_FALLBACK); }
    if (compares) {
        compare(1, C, 1337);
        compare(2, blocks, 1500);
    }
    return CHILD_OK;
}

static const char *message(void *context) {
    (void)context;
    return "";
}

static enum child_status call_small(void *context, const struct job *job, void *const buffers[], struct result *result,
                                    struct finding_record **findings) {
    shared_floats = 48 << 8;
    enum child_status status = call(context, job, buffers, result, findings);
    shared_floats = 227 << 8;
    return status;
}

/* As the grader explores a source with that text. */
static struct exploration *explored(const char *text, uint64_t seed) {
    struct source source = {0};
    source_add(&source, text);
    struct exploration *found = malloc(sizeof *found);
    struct device small = {.call = call_small, .message = message};
    struct device device = {.call = call, .message = message, .small = &small};
    explore(&device, &trace, op_find("layernorm_forward"), TYPE_F32, &source, seed, found);
    return found;
}

typedef bool condition(const struct test_case *test);

static int count_cases(const struct exploration *found, condition *holds) {
    int count = 0;
    for (int i = 0; i < found->case_count; i++) { count += holds(&found->cases[i]); }
    return count;
}

static bool is_wide(const struct test_case *test) {
    return test->sizes.C > 6000;
}
static bool is_wide_with_other_eps(const struct test_case *test) {
    return is_wide(test) && test->sizes.eps != 1e-5f;
}
static bool is_wide_with_one_moved(const struct test_case *test) {
    return is_wide(test) && test->offset && test->moved;
}
static bool is_wide_and_refused(const struct test_case *test) {
    return is_wide(test) && test->refused;
}
static bool is_just_below(const struct test_case *test) {
    return test->sizes.C == 6000;
}
static bool is_just_above(const struct test_case *test) {
    return test->sizes.C == 6001;
}
static bool is_wide_in_place(const struct test_case *test) {
    return is_wide(test) && test->in_place;
}
static bool is_point(const struct test_case *test) {
    return test->sizes.C == 1337;
}
static bool has_many_rows(const struct test_case *test) {
    return test->sizes.N > 96000;
}

Test(explore, reaches_a_wide_branch_with_every_property) {
    struct exploration *found = explored("", 5);
    cr_expect_gt(count_cases(found, is_wide), 10);
    cr_expect_gt(count_cases(found, is_wide_with_other_eps), 1);
    cr_expect_gt(count_cases(found, is_wide_and_refused), 0);
    cr_expect_gt(count_cases(found, is_wide_in_place), 0);
    cr_expect_geq(count_cases(found, is_wide_with_one_moved), 6, "each of the six tensors");
    cr_expect_gt(count_cases(found, is_just_below), 0);
    cr_expect_gt(count_cases(found, is_just_above), 0);
    free(found);
}

Test(explore, leaves_out_what_depends_on_data) {
    struct exploration *found = explored("", 5);
    cr_expect_eq(found->atoms, 7, "%d: always, wide, rows, aligned, in place, fallback, no error", found->atoms);
    free(found);
}

Test(explore, takes_single_sizes_from_comparisons_and_integers) {
    struct exploration *blind = explored("", 5), *told = explored("C == 1337 && x % 8", 5), *solved;
    cr_expect_eq(count_cases(blind, is_point), 0, "sweeps alone do not find it");
    cr_expect_gt(count_cases(told, is_point), 1);
    compares = true;
    solved = explored("", 5);
    cr_expect_gt(count_cases(solved, is_point), 1);
    cr_expect_gt(count_cases(solved, has_many_rows), 0, "(N + 63) / 64 > 1500");
    free(blind);
    free(told);
    free(solved);
}

static bool is_small(const struct test_case *test) {
    return test->small;
}
static bool is_just_above_small(const struct test_case *test) {
    return test->small && test->sizes.C == (48 << 8) + 1;
}

Test(explore, takes_fallbacks_on_a_small_device) {
    struct exploration *unasked = explored("", 5), *found = explored("cudaDeviceGetAttribute", 5);
    cr_expect_eq(count_cases(unasked, is_small), 0);
    cr_expect_gt(count_cases(found, is_just_above_small), 1, "plain, and with a property");
    free(unasked);
    free(found);
}

Test(explore, has_a_budget) {
    struct exploration *found = explored("", 5);
    cr_expect_gt(found->case_count, 0);
    cr_expect_leq(found->cost, found->fixed_cost / 4 * 3);
    cr_expect_leq(found->plain_cost, found->fixed_cost / 4 * 3);
    free(found);
}

Test(explore, is_repeatable) {
    struct exploration *first = explored("", 9), *second = explored("", 9);
    cr_expect_eq(first->case_count, second->case_count);
    cr_expect_eq(memcmp(first->cases, second->cases, sizeof first->cases), 0);
    free(first);
    free(second);
}

Test(explore, draws_other_inputs_for_another_source) {
    struct exploration *first = explored("// a", 9), *second = explored("// b", 9);
    cr_assert_gt(first->case_count, 0);
    cr_assert_eq(first->case_count, second->case_count);
    for (int i = 0; i < first->case_count; i++) { cr_expect_neq(first->cases[i].seed, second->cases[i].seed); }
    free(first);
    free(second);
}

Test(explore, has_no_cases_without_an_answer) {
    is_silent = true;
    struct exploration *found = explored("", 9);
    cr_expect_eq(found->case_count, 0);
    free(found);
}

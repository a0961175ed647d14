/* cases_model.c — the calls that check lab 4's ops: attention, decoding, a block, whole models. */
#include <string.h>

#include "cases.h"
#include "common/runner/generate.h"

/* B, T, H, D, S: one token, full and partly filled caches, odd numbers of heads, heads wider than a warp or a block. */
static const int attention[][5] = {
    {1, 4, 2, 8, 6},     {1, 1, 1, 1, 1},    {2, 3, 1, 4, 3},     {3, 5, 2, 3, 9},
    {1, 17, 3, 16, 17},  {5, 8, 4, 8, 8},    {2, 33, 2, 64, 40},  {1, 64, 2, 16, 80},
    {1, 127, 1, 5, 130}, {2, 65, 2, 33, 70}, {1, 20, 1, 150, 20},
};
static const int long_cache[] = {1, 1025, 1, 2,
                                 1030}; /* for decoding: more keys than the threads of the largest block */
static const int blocks[][5] = {
    {1, 4, 2, 4, 6},   {1, 1, 1, 2, 1},    {2, 3, 1, 5, 3}, {3, 6, 2, 3, 9},
    {1, 17, 3, 8, 17}, {2, 20, 2, 16, 24}, {5, 7, 4, 4, 8},
};
/* B, T, H, D, S, L, V */
static const int models[][7] = {
    {1, 4, 2, 4, 7, 2, 11},
    {2, 3, 1, 6, 6, 1, 8},
    {3, 6, 2, 8, 12, 3, 40},
    {2, 9, 3, 5, 13, 2, 23},
};

static struct test_case *add_part(struct case_list *list, const int *n, enum input_values values) {
    struct op_sizes sizes = op_model_sizes(list->type, n[0], n[1], n[2], n[3], n[4]);
    return cases_add(list, sizes, values);
}

static struct test_case *add_model(struct case_list *list, const int *n) {
    struct op_sizes sizes = op_model_sizes(list->type, n[0], n[1], n[2], n[3], n[4]);
    sizes.L = n[5];
    sizes.V = n[6];
    return cases_add(list, sizes, VALUES_NORMAL);
}

/* A block is a part of a model that has parameters. */
static bool is_block(const struct op *op) {
    return !op_is_model(op) && op_tensor_find(op, "qkv_weight") >= 0;
}

static void add_shapes(struct case_list *list) {
    for (size_t i = 0; i < sizeof models / sizeof *models && op_is_model(list->op); i++) { add_model(list, models[i]); }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && is_block(list->op); i++) {
        add_part(list, blocks[i], VALUES_NORMAL)->sizes.L = i % 3 != 1; /* layer 0 too */
    }
    for (size_t i = 0; i < sizeof attention / sizeof *attention && !op_is_model(list->op) && !is_block(list->op); i++) {
        add_part(list, attention[i], VALUES_NORMAL);
    }
    if (list->op->layout == LAYOUT_TOKENS) { add_part(list, long_cache, VALUES_NORMAL); }
}

static void add_values(struct case_list *list) {
    static const int sizes[2][5] = {{2, 9, 2, 8, 12}, {3, 5, 1, 3, 5}};
    static const int model[7] = {4, 5, 2, 4, 10, 2, 17};
    if (op_has_scalar(list->op, "eps")) {
        struct test_case *test =
            op_is_model(list->op) ? add_model(list, model) : add_part(list, sizes[0], VALUES_NORMAL);
        cases_other_scalars(list->op, &test->sizes);
    }
    for (int values = VALUES_NORMAL + 1; values < VALUES_KINDS; values++) {
        if (!(list->op->hard >> values & 1)) { continue; }
        for (int i = 0; i < 2; i++) {
            struct test_case *test = add_part(list, sizes[i], (enum input_values)values);
            if (values == VALUES_SMALL && i == 1 && op_has_scalar(list->op, "eps")) { test->sizes.eps = LEAST_EPS; }
        }
    }
}

/* The same call repeated, in another order, after a call on the same memory, and with launches that fail. */
static void add_memory(struct case_list *list) {
    static const int part[5] = {2, 6, 2, 8, 9}, model[7] = {2, 4, 2, 4, 7, 2, 13};
    for (int i = 0; i < 5; i++) {
        struct test_case *test = op_is_model(list->op) ? add_model(list, model) : add_part(list, part, VALUES_NORMAL);
        if (i == 1 || i == 2) { *test = test[-1]; }
        test->again = i == 1 || i == 2;
        test->shuffled = i == 2;
        test->rehearsed = i == 3;
        test->refused = i == 4;
    }
}

static void add_secret(struct case_list *list, uint64_t secret) {
    list->seed = generate_mix(secret + 1);
    for (int i = 0; i < 4; i++) {
        int B = cases_draw(&secret, 1, 4), T = cases_draw(&secret, 2, 30), H = cases_draw(&secret, 1, 4);
        int D = cases_draw(&secret, 2, op_is_model(list->op) ? 8 : 24), S = T + cases_draw(&secret, 1, 8);
        int n[7] = {
            B, op_is_model(list->op) ? 2 + T / 4 : T, H, D, S, cases_draw(&secret, 1, 3), cases_draw(&secret, 7, 60)};
        if (op_is_model(list->op)) {
            n[4] = n[1] + cases_draw(&secret, 1, 6);
            add_model(list, n);
        } else {
            add_part(list, n, VALUES_NORMAL)->sizes.L = cases_draw(&secret, 1, 3);
        }
    }
}

void cases_model(struct case_list *list, enum check_kind kind, uint64_t secret) {
    switch (kind) {
        case CHECK_SHAPES: add_shapes(list); break;
        case CHECK_VALUES: add_values(list); break;
        case CHECK_MEMORY: add_memory(list); break;
        case CHECK_SECRET: add_secret(list, secret); break;
        default: break;
    }
}

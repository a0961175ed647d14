/* cases.c — which calls make up each correctness check. */
#include <string.h>

#include "check.h"
#include "common/runner/generate.h"

/* Columns around the widths that kernels are built of: 1, a warp, a block, a float4, GPT-2's own 768, 1600 and 50257. */
static const struct {
    int N, C;
} published[] = {
    {4, 64},  {3, 1},    {1, 2},    {3, 31},   {3, 32},   {3, 33},   {3, 36},    {5, 127},   {3, 128},
    {1, 129}, {37, 768}, {3, 1023}, {3, 1024}, {3, 1025}, {2, 1600}, {1031, 33}, {1, 50257},
};

struct case_list {
    struct test_case *cases;
    int count, capacity;
    uint64_t seed;
};

static const float usual_eps = 1e-5f;

static struct test_case *add(struct case_list *list, int N, int C, enum input_values values) {
    if (list->count >= list->capacity) { return &list->cases[list->capacity - 1]; }
    struct test_case *test = &list->cases[list->count++];
    *test = (struct test_case){.sizes = {N, C, usual_eps}, .values = values};
    test->seed = generate_mix(list->seed + (uint64_t)list->count);
    return test;
}

static void add_shapes(struct case_list *list) {
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        add(list, published[i].N, published[i].C, VALUES_NORMAL);
    }
}

static void add_values(struct case_list *list, const struct op *op) {
    for (int values = VALUES_NORMAL + 1; values < VALUES_KINDS; values++) {
        if (!(inputs_kinds(op) >> values & 1)) { continue; }
        add(list, 6, 771, (enum input_values)values);
        add(list, 5, 20, (enum input_values)values); /* fewer columns than lanes: some lanes see no element */
    }
    add(list, 6, 771, VALUES_NORMAL)->sizes.eps = 0.125f; /* eps is an argument */
}

static void add_memory(struct case_list *list, const struct op *op) {
    add(list, 5, 768, VALUES_NORMAL)->offset = 1;
    add(list, 3, 129, VALUES_NORMAL)->offset = 1;
    for (int t = 0; t < op->tensor_count; t++) {
        if (!(op->alias[0] >> t & 1)) { continue; }
        add(list, 5, 768, VALUES_NORMAL)->in_place = 1 + t;
        add(list, 7, 1025, VALUES_NORMAL)->in_place = 1 + t;
    }
    struct test_case first = *add(list, 67, 257, VALUES_NORMAL);
    struct test_case *second = add(list, 67, 257, VALUES_NORMAL);
    *second = first;
    second->again = true;
    add(list, 33, 300, VALUES_NORMAL)->shuffled = true;
    add(list, 9, 300, VALUES_NORMAL)->rehearsed = true;
    add(list, 0, 768, VALUES_NORMAL);
}

/* A number of [low, high] that only the secret knows. */
static int draw(uint64_t *secret, int low, int high) {
    *secret = generate_mix(*secret + 0x9e3779b97f4a7c15u);
    return low + (int)(*secret % (uint64_t)(high - low + 1));
}

static void add_secret(struct case_list *list, uint64_t secret) {
    list->seed = generate_mix(secret + 1);
    add(list, draw(&secret, 2, 40), draw(&secret, 3, 300), VALUES_NORMAL);
    add(list, draw(&secret, 260, 700), draw(&secret, 2, 40), VALUES_NORMAL);
    add(list, draw(&secret, 2, 9), 2 * draw(&secret, 150, 1250) + 1, VALUES_LARGE);
    add(list, draw(&secret, 2, 9), 32 * draw(&secret, 5, 60) + 4 * draw(&secret, 1, 7), VALUES_NORMAL);
    add(list, draw(&secret, 1, 3), draw(&secret, 3000, 6000), VALUES_SHIFTED);
    add(list, draw(&secret, 2, 9), draw(&secret, 33, 900), VALUES_SMALL)->offset = draw(&secret, 1, 3);
}

int cases_of(const struct op *op, enum check_kind kind, uint64_t seed, uint64_t secret, struct test_case *cases,
             int capacity) {
    struct case_list list = {cases, 0, capacity, generate_mix(seed + (uint64_t)kind)};
    switch (kind) {
        case CHECK_SHAPES: add_shapes(&list); break;
        case CHECK_VALUES: add_values(&list, op); break;
        case CHECK_MEMORY: add_memory(&list, op); break;
        case CHECK_SECRET: add_secret(&list, secret); break;
        default: break;
    }
    return list.count;
}

/* cases.c — the calls of each correctness check. */
#include <string.h>

#include "cases.h"
#include "common/runner/generate.h"

/* Columns around the widths that matter to kernels: 1, a warp, a block, a float4, and GPT-2's 768, 1600 and 50257. */
static const struct {
    int N, C;
} published[] = {
    {4, 64},  {3, 1},    {1, 2},    {3, 31},   {3, 32},   {3, 33},   {3, 36},    {5, 127},   {3, 128},
    {1, 129}, {37, 768}, {3, 1023}, {3, 1024}, {3, 1025}, {2, 1600}, {1031, 33}, {1, 50257},
};

/* The same for (B, H, T, T): one key, odd matrices, sizes around a vector, with and without lengths, both forms. */
static const struct {
    int B, H, T, upper, lengths;
} published_matrices[] = {
    {1, 2, 64, 0, 0},  {3, 1, 1, 0, 0},   {1, 2, 2, 0, 0},    {2, 1, 3, 0, 0},    {1, 3, 31, 0, 0},   {2, 1, 32, 1, 0},
    {1, 2, 33, 0, 0},  {5, 2, 20, 0, 1},  {1, 1, 63, 1, 0},   {2, 3, 65, 0, 0},   {1, 2, 127, 0, 0},  {1, 1, 128, 1, 0},
    {5, 1, 129, 1, 1}, {1, 1, 768, 0, 0}, {1, 1, 1023, 0, 0}, {1, 1, 1025, 1, 0}, {1, 1, 1600, 0, 0},
};

/* The 16-bit types have the same logic, so large calls are made in fp32 only. */
enum { LARGE_FOR_16_BITS = 1 << 20 };

struct test_case *cases_add(struct case_list *list, struct op_sizes sizes, enum input_values values) {
    if (list->count >= list->capacity) { return &list->cases[list->capacity - 1]; }
    struct test_case *test = &list->cases[list->count++];
    *test = (struct test_case){.sizes = sizes, .values = values};
    test->sizes.type = list->type;
    op_sizes_complete(list->op, &test->sizes);
    test->seed = generate_mix(list->seed + (uint64_t)list->count);
    return test;
}

void cases_other_scalars(const struct op *op, struct op_sizes *sizes) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (scalar->usual != 0.0) { op_sizes_set(op, sizes, scalar->name, scalar->other); }
    }
}

static struct test_case *add(struct case_list *list, int N, int C, enum input_values values) {
    return cases_add(list, (struct op_sizes){.N = N, .C = C, .eps = 1e-5f}, values);
}

static struct test_case *add_matrices(struct case_list *list, int B, int H, int T, enum input_values values) {
    return cases_add(list, op_causal_sizes(list->type, B, H, T, 0.0f), values);
}

/* (N, C) for an op on rows; matrices with about as many elements for a causal op. */
static struct test_case *add_usual(struct case_list *list, int N, int C, int B, int T) {
    return op_is_on_matrices(list->op) ? add_matrices(list, B, 2, T, VALUES_NORMAL) : add(list, N, C, VALUES_NORMAL);
}

static bool too_large(const struct case_list *list, int N, int C) {
    return list->type != TYPE_F32 && (long)N * C > LARGE_FOR_16_BITS;
}

static void add_shapes(struct case_list *list) {
    for (size_t i = 0; i < sizeof published / sizeof published[0] && !op_is_on_matrices(list->op); i++) {
        if (too_large(list, published[i].N, published[i].C)) { continue; }
        add(list, published[i].N, published[i].C, VALUES_NORMAL);
    }
    for (size_t i = 0; i < sizeof published_matrices / sizeof *published_matrices && op_is_on_matrices(list->op); i++) {
        int B = published_matrices[i].B, H = published_matrices[i].H, T = published_matrices[i].T;
        if (too_large(list, B * H * T, T)) { continue; }
        struct test_case *test = add_matrices(list, B, H, T, VALUES_NORMAL);
        test->sizes.upper = published_matrices[i].upper;
        test->sizes.lengths = published_matrices[i].lengths;
    }
    /* More elements than 1024 blocks of 256 threads and than 16 bits can count; more rows than a grid may have in y. */
    if (list->op->elementwise) {
        add(list, 66001, 4, VALUES_NORMAL);
    } else if (!op_is_on_matrices(list->op) && !too_large(list, 349, 769)) {
        add(list, 349, 769, VALUES_NORMAL);
    }
    add_usual(list, 3, 40, 1, 40); /* whole vectors of every type, but no whole warp: for the diagnosis of tails */
}

static void add_matrix_values(struct case_list *list, enum input_values values) {
    add_matrices(list, 2, 2, 67, values)->sizes.lengths = inputs_need_lengths(values);
    struct test_case *small = add_matrices(list, 5, 1, 20, values); /* fewer columns than lanes */
    small->sizes.lengths = inputs_need_lengths(values);
    small->sizes.upper = 1;
    if (values == VALUES_LARGE) { cases_other_scalars(list->op, &small->sizes); } /* scores above the largest __half */
}

/* Rows of very different magnitude, more than warps at work at a time: nothing of a warp's earlier row may remain. */
static void add_many_large_rows(struct case_list *list) {
    if (op_is_on_matrices(list->op)) {
        add_matrices(list, 9, 4, 33, VALUES_LARGE);
    } else {
        add(list, 4111, 9, VALUES_LARGE);
    }
}

static void add_values(struct case_list *list) {
    for (int values = VALUES_NORMAL + 1; values < VALUES_KINDS; values++) {
        if (!(list->op->hard >> values & 1)) { continue; }
        if (op_is_on_matrices(list->op)) {
            add_matrix_values(list, (enum input_values)values);
            continue;
        }
        add(list, 6, 771, (enum input_values)values);
        struct test_case *few = add(list, 5, 20, (enum input_values)values); /* fewer columns than lanes */
        if (values == VALUES_SMALL) { few->sizes.eps = LEAST_EPS; }          /* far below the variance */
    }
    struct test_case *test = add_usual(list, 6, 771, 1, 67);
    test->sizes.eps = 0.125f; /* a backward pass gets statistics computed with this eps */
    cases_other_scalars(list->op, &test->sizes);
    if (list->op->hard >> VALUES_LARGE & 1) { add_many_large_rows(list); }
}

static void add_in_place(struct case_list *list, int output) {
    for (int t = 0; t < op_tensor_count(list->op); t++) {
        if (!op_may_alias(list->op, output, t)) { continue; }
        struct test_case *even = add_usual(list, 5, 768, 1, 64), *odd = add_usual(list, 7, 1025, 2, 65);
        even->in_place = odd->in_place = 1 + t;
        even->output = odd->output = output;
        odd->sizes.upper = op_is_on_matrices(list->op);
    }
}

/* The same call again, and with another order of the blocks, which changes the order of float atomics. */
static void add_repeated(struct case_list *list, int N, int C, int B, int T) {
    struct test_case test = *add_usual(list, N, C, B, T);
    test.again = true;
    *add_usual(list, N, C, B, T) = test;
    test.shuffled = true;
    *add_usual(list, N, C, B, T) = test;
}

static void add_memory(struct case_list *list) {
    add_usual(list, 5, 768, 1, 64)->offset = 1;
    add_usual(list, 3, 129, 1, 129)->offset = 1;
    for (int t = 0; t < op_tensor_count(list->op); t++) { add_in_place(list, t); }
    add_repeated(list, 67, 257, 2, 70);
    add_repeated(list, 2, 40009, 1, 385); /* many blocks may share a row */
    add_repeated(list, 4111, 9, 7, 33);   /* and a column */
    add_usual(list, 9, 300, 1, 36)->rehearsed = true;
    add_usual(list, 9, 300, 1, 36)->refused = true;
    add_usual(list, 0, 768, 0, 64);
}

int cases_draw(uint64_t *secret, int low, int high) {
    *secret = generate_mix(*secret + 0x9e3779b97f4a7c15u);
    return low + (int)(*secret % (uint64_t)(high - low + 1));
}

/* Many small sizes, since some sizes are wrong by themselves. Half of them are those where n * C, the first element of a row,
 * times 1.0f / C is less than n. */
enum { SMALL_CALLS = 32 };

static bool is_hard_divisor(int C, int rows) {
    for (int n = 1; n < rows; n++) {
        if ((float)(n * C) * (1.0f / (float)C) < (float)n) { return true; }
    }
    return false;
}

static int draw_size(uint64_t *secret, int i, int rows, int largest) {
    for (;;) {
        int C = cases_draw(secret, 2, largest);
        if (i % 2 == 0 || is_hard_divisor(C, rows)) { return C; }
    }
}

static void add_secret_matrices(struct case_list *list, uint64_t secret) {
    for (int i = 0; i < 6; i++) {
        static const int smallest[] = {3, 30, 60, 4, 100, 250}, largest[] = {29, 60, 130, 28, 250, 400};
        int B = cases_draw(&secret, 1, i % 3 == 0 ? 6 : 2), H = cases_draw(&secret, 1, 3);
        struct test_case *test = add_matrices(list, B, H, cases_draw(&secret, smallest[i], largest[i]), VALUES_NORMAL);
        test->sizes.upper = i % 2;
        test->sizes.lengths = i % 3 == 0;
        test->sizes.scale = 0.0625f * (float)cases_draw(&secret, 1, 24);
        if (i == 4) { test->offset = cases_draw(&secret, 1, 3); }
    }
    for (int i = 0; i < SMALL_CALLS; i++) { add_matrices(list, 1, 1, draw_size(&secret, i, 2, 64), VALUES_NORMAL); }
}

static void add_secret(struct case_list *list, uint64_t secret) {
    list->seed = generate_mix(secret + 1);
    if (op_is_on_matrices(list->op)) {
        add_secret_matrices(list, secret);
        return;
    }
    add(list, cases_draw(&secret, 2, 40), cases_draw(&secret, 3, 300), VALUES_NORMAL);
    add(list, cases_draw(&secret, 260, 700), cases_draw(&secret, 2, 40), VALUES_NORMAL);
    add(list, cases_draw(&secret, 2, 9), 2 * cases_draw(&secret, 150, 1250) + 1, VALUES_LARGE);
    add(list, cases_draw(&secret, 2, 9), 32 * cases_draw(&secret, 5, 60) + 4 * cases_draw(&secret, 1, 7),
        VALUES_NORMAL);
    add(list, cases_draw(&secret, 1, 3), cases_draw(&secret, 3000, 6000), VALUES_SHIFTED);
    add(list, cases_draw(&secret, 2, 9), cases_draw(&secret, 33, 900), VALUES_SMALL)->offset =
        cases_draw(&secret, 1, 3);
    for (int i = 0; i < SMALL_CALLS; i++) {
        int rows = cases_draw(&secret, 2, 5);
        add(list, rows, draw_size(&secret, i, rows, 300), VALUES_NORMAL);
    }
}

int cases_of(const struct op *op, enum op_type type, enum check_kind kind, uint64_t seed, uint64_t secret,
             struct test_case *cases, int capacity) {
    struct case_list list = {cases, 0, capacity, generate_mix(seed + (uint64_t)kind), op, type};
    if (op_is_on_sequences(op)) {
        cases_model(&list, kind, secret);
        return list.count;
    }
    switch (kind) {
        case CHECK_SHAPES: add_shapes(&list); break;
        case CHECK_VALUES: add_values(&list); break;
        case CHECK_MEMORY: add_memory(&list); break;
        case CHECK_SECRET: add_secret(&list, secret); break;
        default: break;
    }
    return list.count;
}

/* sweep.c — sizes that change the branches of a call: one size is varied at a time. */
#include <stdlib.h>
#include <string.h>

#include "branches.h"
#include "common/runner/generate.h"

enum { MOST_VALUES = 640, LARGEST = 1 << 20 };

static struct test_case usual_case(struct branches *b) {
    struct test_case test = {.seed = generate_mix(b->seed + (uint64_t)b->probes)};
    switch (b->op->layout) {
        case LAYOUT_ROWS: test.sizes = (struct op_sizes){.N = 2, .C = 36, .eps = 1e-5f}; break;
        case LAYOUT_MATRICES: test.sizes = op_causal_sizes(b->type, 1, 2, 36, 0.0f); break;
        default: test.sizes = op_model_sizes(b->type, 2, 3, 2, 4, 6); break;
    }
    if (op_is_model(b->op)) {
        test.sizes.L = 2;
        test.sizes.V = 11;
    }
    test.sizes.type = b->type;
    op_sizes_complete(b->op, &test.sizes);
    return test;
}

static void set_size(const struct branches *b, struct op_sizes *sizes, const char *name, int value) {
    int D = sizes->H ? sizes->C / sizes->H : 0;
    op_sizes_set(b->op, sizes, name, value);
    if (strcmp(name, "H") == 0 && op_is_on_sequences(b->op)) { sizes->C = value * D; }
    if (strcmp(name, "N") == 0 && b->op->layout == LAYOUT_ROWS) { sizes->C = value > 4096 ? 1 : 4; }
    if (op_is_on_matrices(b->op) && strcmp(name, "T") != 0) { sizes->T = 4; }
    if (sizes->S < sizes->T + op_is_model(b->op)) { sizes->S = sizes->T + op_is_model(b->op); }
    op_sizes_complete(b->op, sizes);
}

static int compare_ints(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static int sort_distinct(int *values, int count) {
    int distinct = 0;
    qsort(values, (size_t)count, sizeof *values, compare_ints);
    for (int i = 0; i < count; i++) {
        if (i == 0 || values[i] != values[i - 1]) { values[distinct++] = values[i]; }
    }
    return distinct;
}

static void add_value(int *values, int *count, long value) {
    if (value >= 1 && value <= LARGEST && *count < MOST_VALUES) { values[(*count)++] = (int)value; }
}

/* 1 to 20, around each power of two, and around the integers. A call on sequences takes long: fewer of them. */
static int swept_values(const struct op *op, const int *integers, int integer_count, int *values) {
    static const int around[] = {0, 1, -1, 2, 4};
    bool is_slow = op_is_on_sequences(op);
    int count = 0;
    for (int v = 1; v <= (is_slow ? 6 : 20); v++) { add_value(values, &count, v); }
    for (int power = is_slow ? 8 : 32; power <= LARGEST; power *= is_slow ? 4 : 2) {
        for (int i = 0; i < (is_slow ? 2 : 5); i++) { add_value(values, &count, power + around[i]); }
        if (!is_slow) { add_value(values, &count, power + power / 2); }
    }
    for (int i = 0; i < integer_count; i++) {
        for (int by = -1; by <= 1; by++) { add_value(values, &count, (long)integers[i] + by); }
    }
    return sort_distinct(values, count);
}

static void add_boundary(struct branches *b, const struct test_case *test, const atom_set atoms) {
    struct candidate *added = branches_add_candidate(b, test, atoms);
    if (added) { added->is_boundary = true; }
}

/* Between `low`, which does not reach the atom, and `high`, which does. */
static void bisect(struct branches *b, const char *name, int low, int high, int atom) {
    atom_set atoms, below = {0}, above = {0};
    bool has_below = false, has_above = false;
    struct test_case test = usual_case(b);
    while (high - low > 1) {
        int middle = low + (high - low) / 2, first;
        set_size(b, &test.sizes, name, middle);
        branches_consider(b, &test, atoms, &first);
        if (b->events == 0) { return; }
        bool reached = branches_has(atoms, atom);
        memcpy(reached ? above : below, atoms, sizeof atoms);
        *(reached ? &has_above : &has_below) = true;
        *(reached ? &high : &low) = middle;
    }
    set_size(b, &test.sizes, name, low);
    if (has_below) { add_boundary(b, &test, below); }
    set_size(b, &test.sizes, name, high);
    if (has_above) { add_boundary(b, &test, above); }
}

enum { MOST_ELEMENTS = 3 << 20 }; /* of a traced call */

static void sweep(struct branches *b, const char *name, const int *values, int count) {
    int before = 0;
    for (int i = 0; i < count && b->spent <= b->limit; i++) {
        atom_set atoms;
        int atom;
        struct test_case test = usual_case(b);
        set_size(b, &test.sizes, name, values[i]);
        if (branches_cost(b->op, &test) > (op_is_on_sequences(b->op) ? MOST_ELEMENTS / 256 : MOST_ELEMENTS)) { return; }
        struct candidate *added = branches_consider(b, &test, atoms, &atom);
        if (added && before && values[i] - before > 1) { bisect(b, name, before, values[i], atom); }
        before = values[i];
    }
}

static const struct comparison *find_comparison(const struct comparison *list, int count, uint64_t site) {
    for (int i = 0; i < count; i++) {
        if (list[i].site == site) { return &list[i]; }
    }
    return NULL;
}

/* Sizes at which the operands of a traced comparison are equal, if one is constant and the other linear in the size: from two
 * calls, with the sizes `at`. */
static int solve(struct branches *b, const char *name, const int at[2], int *solutions, int count, int capacity) {
    static struct comparison first[RESULT_MAX_COMPARISONS];
    int first_count = 0;
    for (int run = 0; run < 2; run++) {
        struct test_case test = usual_case(b);
        atom_set atoms;
        set_size(b, &test.sizes, name, at[run]);
        if (!branches_trace(b, &test, atoms)) { return count; }
        if (run == 0) {
            first_count = b->trace->comparison_count;
            memcpy(first, b->trace->comparisons, (size_t)first_count * sizeof *first);
        }
    }
    for (int i = 0; i < first_count; i++) {
        const struct comparison *a = &first[i];
        const struct comparison *again = find_comparison(b->trace->comparisons, b->trace->comparison_count, a->site);
        for (int constant = 0; again && constant < 2; constant++) {
            int other = 1 - constant;
            int64_t value = a->most[constant], slope = again->most[other] - a->most[other];
            bool is_constant =
                a->least[constant] == value && again->most[constant] == value && again->least[constant] == value;
            if (!is_constant || slope == 0) { continue; }
            double size = at[0] + (double)(value - a->most[other]) * (at[1] - at[0]) / (double)slope;
            for (int by = -1; by <= 1 && size > at[0] && size < LARGEST && count < capacity; by++) {
                solutions[count++] = (int)size + by;
            }
        }
    }
    return count;
}

void branches_sweep(struct branches *b, const struct source *source) {
    for (int i = 0; i < op_scalar_count(b->op); i++) {
        const struct op_scalar *scalar = op_scalar_at(b->op, i);
        int values[MOST_VALUES], solutions[MOST_VALUES], solved, count;
        if (!op_scalar_is_size(scalar)) { continue; }
        count = swept_values(b->op, source->integers, source->integer_count, values);
        sweep(b, scalar->name, values, count);
        solved = solve(b, scalar->name, (const int[]){33, 41}, solutions, 0, MOST_VALUES);
        solved = solve(b, scalar->name, (const int[]){512, 768}, solutions, solved, MOST_VALUES);
        solved = sort_distinct(solutions, solved);
        sweep(b, scalar->name, solutions, solved);
    }
}

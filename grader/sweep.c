/* sweep.c — sizes that change the branches of a call: one size is varied at a time. */
#include <stdlib.h>
#include <string.h>

#include "branches.h"
#include "common/runner/generate.h"

enum { MOST_VALUES = 640, LARGEST = 1 << 21, WIDE = 1 << 14, SHARED_BYTES = 48 << 10 };

static struct test_case usual_case(struct branches *b) {
    struct test_case test = {.seed = generate_mix(b->seed + (uint64_t)b->probes), .small = b->small};
    switch (b->op->layout) {
        case LAYOUT_ROWS: test.sizes = (struct op_sizes){.N = 2, .C = 36, .eps = 1e-5f}; break;
        case LAYOUT_MATRICES: test.sizes = op_causal_sizes(b->type, 2, 2, 36, 0.0f); break;
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
    if (sizes->S < sizes->T + op_is_model(b->op)) { sizes->S = sizes->T + op_is_model(b->op); }
    op_sizes_complete(b->op, sizes);
}

/* A usual call but for that size. Where one size is large, others are small. */
static struct test_case case_of_size(struct branches *b, const char *name, int value) {
    struct test_case test = usual_case(b);
    struct op_sizes *sizes = &test.sizes;
    if (b->op->layout == LAYOUT_ROWS && strcmp(name, "N") == 0) { sizes->C = value > WIDE ? 1 : 4; }
    if (b->op->layout == LAYOUT_ROWS && strcmp(name, "C") == 0 && value > WIDE) { sizes->N = 1; }
    if (op_is_on_matrices(b->op) && strcmp(name, "T") != 0) { sizes->T = 4; }
    if (op_is_on_matrices(b->op) && strcmp(name, "T") == 0 && value > 256) { sizes->B = sizes->H = 1; }
    if (op_is_on_sequences(b->op) && strcmp(name, "D") == 0 && value > 16) { sizes->B = sizes->H = 1; }
    set_size(b, sizes, name, value);
    return test;
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

/* 1 to 20, around each power of two, around the integers, and just above 48 KiB of shared memory. A call on sequences takes
 * long: fewer of them. Large calls do, too. */
static int swept_values(const struct branches *b, const struct source *source, int *values) {
    static const int around[] = {0, 1, -1, 2, 4};
    bool is_slow = op_is_on_sequences(b->op);
    int count = 0, element = b->type == TYPE_F32 ? 4 : 2;
    for (int v = 1; v <= (is_slow ? 6 : 20); v++) { add_value(values, &count, v); }
    for (int power = is_slow ? 8 : 32; power <= LARGEST; power *= is_slow ? 4 : 2) {
        for (int i = 0; i < (power > WIDE ? 1 : is_slow ? 2 : 5); i++) { add_value(values, &count, power + around[i]); }
        if (!is_slow) { add_value(values, &count, power + power / 2); }
    }
    for (int i = 0; i < source->integer_count; i++) {
        for (int by = -1; by <= 1; by++) { add_value(values, &count, (long)source->integers[i] + by); }
    }
    add_value(values, &count, SHARED_BYTES / 4 + 1);
    add_value(values, &count, SHARED_BYTES / element + 1);
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
    struct test_case test;
    while (high - low > 1) {
        int middle = low + (high - low) / 2, first;
        test = case_of_size(b, name, middle);
        branches_consider(b, &test, atoms, &first);
        if (b->events == 0) { return; }
        bool reached = branches_has(atoms, atom);
        memcpy(reached ? above : below, atoms, sizeof atoms);
        *(reached ? &has_above : &has_below) = true;
        *(reached ? &high : &low) = middle;
    }
    test = case_of_size(b, name, low);
    if (has_below) { add_boundary(b, &test, below); }
    test = case_of_size(b, name, high);
    if (has_above) { add_boundary(b, &test, above); }
}

/* ---- grids that stop growing ---- */

enum { MOST_BEYOND = 4 << 20 }; /* elements of such a call */

static void add_beyond(struct branches *b, const char *name, int value) {
    atom_set atoms;
    struct test_case test = case_of_size(b, name, value);
    if (branches_cost(b->op, &test) > MOST_BEYOND || !branches_trace(b, &test, atoms)) { return; }
    if (b->work > MOST_WORK) { return; }
    struct candidate *added = branches_add_candidate(b, &test, atoms);
    if (added) { added->is_beyond = true; }
}

static uint64_t blocks_of(struct branches *b, const char *name, int value) {
    struct test_case test = case_of_size(b, name, value);
    atom_set atoms;
    return branches_trace(b, &test, atoms) ? b->blocks : 0;
}

/* The grid has more blocks with `high` than with `low`, and as many with still larger values: what lies beyond its last block
 * may be forgotten. */
static void go_beyond(struct branches *b, const char *name, int low, int high, uint64_t blocks) {
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        *(blocks_of(b, name, middle) == blocks ? &high : &low) = middle;
    }
    add_beyond(b, name, high + 2 * (high / (int)blocks + 1));
}

struct growth {
    int low, high;           /* the largest value with another grid, the smallest with the last one */
    uint64_t before, blocks; /* of these grids */
};

static void note_growth(struct growth *growth, int before, int value, uint64_t blocks) {
    if (blocks == 0 || blocks == growth->blocks) { return; }
    *growth = (struct growth){before, value, growth->blocks, blocks};
}

/* ---- one size ---- */

enum { MOST_ELEMENTS = 13 << 19 /* of a traced call */, LARGEST_HEAD = 512 /* contracts end at 1024 */ };

static void sweep(struct branches *b, const char *name, const int *values, int count) {
    struct growth growth = {0, 0, 0, 0};
    int before = 0;
    for (int i = 0; i < count && b->spent <= b->limit; i++) {
        atom_set atoms;
        int atom;
        struct test_case test = case_of_size(b, name, values[i]);
        if (branches_cost(b->op, &test) > (op_is_on_sequences(b->op) ? MOST_ELEMENTS / 256 : MOST_ELEMENTS)) { break; }
        if (strcmp(name, "D") == 0 && values[i] > LARGEST_HEAD) { break; }
        struct candidate *added = branches_consider(b, &test, atoms, &atom);
        note_growth(&growth, before, values[i], b->blocks);
        if (added && before && values[i] - before > 1) { bisect(b, name, before, values[i], atom); }
        before = values[i];
    }
    bool grew = growth.low > 0 && growth.blocks > growth.before && growth.blocks < LARGEST;
    if (grew && before > growth.high + growth.high / 4) { go_beyond(b, name, growth.low, growth.high, growth.blocks); }
}

/* ---- comparisons ---- */

static const struct comparison *find_comparison(const struct comparison *list, int count, uint64_t site) {
    for (int i = 0; i < count; i++) {
        if (list[i].site == site) { return &list[i]; }
    }
    return NULL;
}

/* Two calls whose only difference is the value of one size. */
struct pair {
    int value[2];
    struct comparison first[RESULT_MAX_COMPARISONS];
    int first_count;
};

static bool trace_pair(struct branches *b, struct pair *pair, const struct test_case tests[2]) {
    atom_set atoms;
    if (!branches_trace(b, &tests[0], atoms)) { return false; }
    pair->first_count = b->trace->comparison_count;
    memcpy(pair->first, b->trace->comparisons, (size_t)pair->first_count * sizeof *pair->first);
    return branches_trace(b, &tests[1], atoms);
}

/* Sizes at which the operands of a traced comparison are equal, if one is constant and the other linear in the size. */
static int solve(const struct branches *b, const struct pair *pair, int *solutions, int count) {
    for (int i = 0; i < pair->first_count; i++) {
        const struct comparison *one = &pair->first[i];
        const struct comparison *two = find_comparison(b->trace->comparisons, b->trace->comparison_count, one->site);
        for (int constant = 0; two && constant < 2; constant++) {
            int other = 1 - constant;
            int64_t value = one->most[constant], slope = two->most[other] - one->most[other];
            bool is_constant =
                one->least[constant] == value && two->most[constant] == value && two->least[constant] == value;
            if (!is_constant || slope == 0) { continue; }
            double step = (double)(pair->value[1] - pair->value[0]) / (double)slope;
            double size = pair->value[0] + (double)(value - one->most[other]) * step;
            for (int by = -1; by <= 1 && size >= 1 && size < LARGEST; by++) {
                add_value(solutions, &count, (long)size + by);
            }
        }
    }
    return count;
}

static void sweep_solutions(struct branches *b, const char *name) {
    static const int at[][2] = {{33, 41}, {512, 768}};
    static struct pair pair;
    int solutions[MOST_VALUES], count = 0;
    for (int i = 0; i < 2; i++) {
        struct test_case tests[] = {case_of_size(b, name, at[i][0]), case_of_size(b, name, at[i][1])};
        memcpy(pair.value, at[i], sizeof pair.value);
        if (trace_pair(b, &pair, tests)) { count = solve(b, &pair, solutions, count); }
    }
    sweep(b, name, solutions, sort_distinct(solutions, count));
}

/* Comparisons that only this candidate makes may name other sizes: behind `T >= 300 && H > 3`, H. */
static void solve_candidate(struct branches *b, const struct test_case *test) {
    static struct pair pair;
    for (int i = 0; i < op_scalar_count(b->op); i++) {
        const struct op_scalar *scalar = op_scalar_at(b->op, i);
        int solutions[MOST_VALUES], count = 0;
        if (!op_scalar_is_size(scalar)) { continue; }
        int value = (int)op_scalar_get(b->op, &test->sizes, i);
        struct test_case tests[] = {*test, *test};
        pair.value[0] = value;
        pair.value[1] = value + (value > 32 ? value / 4 : 8);
        set_size(b, &tests[1].sizes, scalar->name, pair.value[1]);
        if (branches_cost(b->op, &tests[1]) > MOST_ELEMENTS / 8) {
            set_size(b, &tests[1].sizes, scalar->name, pair.value[1] = value + 1);
        }
        if (branches_cost(b->op, &tests[1]) > MOST_ELEMENTS / 8 || !trace_pair(b, &pair, tests)) { continue; }
        count = sort_distinct(solutions, solve(b, &pair, solutions, count));
        for (int k = 0; k < count; k++) {
            struct test_case solved = *test;
            atom_set atoms;
            int first;
            set_size(b, &solved.sizes, scalar->name, solutions[k]);
            if (strcmp(scalar->name, "D") == 0 && solutions[k] > LARGEST_HEAD) { continue; }
            if (branches_cost(b->op, &solved) <= MOST_ELEMENTS / 8) { branches_consider(b, &solved, atoms, &first); }
        }
    }
}

/* Rows that are too wide for the sweep: a row of a causal matrix has as many columns as the matrix has rows. */
static void add_wide_matrices(struct branches *b) {
    static const int wide[] = {2048, 2049, 4097};
    for (int i = 1; i < 3 && op_is_on_matrices(b->op); i++) {
        struct test_case test = case_of_size(b, "T", wide[i]);
        atom_set atoms;
        int atom;
        if (branches_consider(b, &test, atoms, &atom)) { bisect(b, "T", wide[i - 1], wide[i], atom); }
    }
}

/* More rows than 16 bits count, and than a grid has in y and z. */
static void add_many_rows(struct branches *b) {
    enum { ROWS = 65535, FEW = 4097 };
    if (b->op->layout != LAYOUT_ROWS) { return; }
    add_beyond(b, "N", ROWS + 100);
    uint64_t blocks = blocks_of(b, "N", FEW);
    int rows = blocks ? (int)((FEW + blocks - 1) / blocks) : 1;
    if (rows > 1 && rows <= LARGEST / ROWS) { add_beyond(b, "N", ROWS * rows + 100); }
}

/* An integer of the source may be the most blocks of a grid, as in min(blocks, 65535): a call with more elements than these
 * blocks cover, if its grid has no more of them. */
static void add_beyond_integers(struct branches *b, const struct source *source) {
    enum { COLUMNS = 4100, FEW = 4096, LEAST_BLOCKS = 1 << 12, MOST = 1 << 25 };
    uint64_t blocks = b->op->elementwise ? blocks_of(b, "C", FEW) : 0, most = 0;
    uint64_t in_block = blocks ? (2 * FEW + blocks - 1) / blocks : 0; /* elements; the usual call has two rows */
    for (int i = 0; blocks && i < source->integer_count; i++) {
        uint64_t limit = (uint64_t)source->integers[i], elements = (limit + 1) * in_block;
        if (limit >= LEAST_BLOCKS && elements > LARGEST && elements <= MOST && limit > most) { most = limit; }
    }
    if (most == 0) { return; }
    struct test_case test = case_of_size(b, "C", COLUMNS);
    atom_set atoms;
    set_size(b, &test.sizes, "N", (int)((most + 2) * in_block / COLUMNS) + 1);
    if (!branches_trace(b, &test, atoms) || b->blocks > most) { return; }
    struct candidate *added = branches_add_candidate(b, &test, atoms);
    if (added) { added->is_beyond = true; }
}

/* Few values up to the largest, before many. */
static int coarse_values(int largest, int *values) {
    int count = 0;
    for (int power = 4; power <= largest; power *= 4) { add_value(values, &count, power); }
    add_value(values, &count, SHARED_BYTES / 4 + 1);
    return sort_distinct(values, count);
}

/* On a small device, branches on its limits are taken at small sizes. */
static void sweep_small(struct branches *b) {
    int values[MOST_VALUES], count = coarse_values(WIDE, values);
    b->small = true;
    for (int i = op_scalar_count(b->op) - 1; i >= 0; i--) {
        const struct op_scalar *scalar = op_scalar_at(b->op, i);
        if (op_scalar_is_size(scalar)) { sweep(b, scalar->name, values, count); }
    }
    b->small = false;
}

void branches_sweep(struct branches *b, const struct source *source) {
    int values[MOST_VALUES], count = swept_values(b, source, values);
    int coarse[MOST_VALUES], coarse_count = coarse_values(LARGEST, coarse);
    uint64_t share = (b->limit - b->spent) / 2, limit = b->limit;
    for (int i = op_scalar_count(b->op) - 1; i >= 0; i--) { /* the length of a row is the last size */
        const struct op_scalar *scalar = op_scalar_at(b->op, i);
        if (!op_scalar_is_size(scalar)) { continue; }
        b->limit = b->spent + share < limit ? b->spent + share : limit;
        if (!op_is_on_sequences(b->op)) { sweep(b, scalar->name, coarse, coarse_count); }
        sweep(b, scalar->name, values, count);
        sweep_solutions(b, scalar->name);
        share = (limit - b->spent) / 2;
    }
    b->limit = limit + limit / 4;
    if (source->asks_device && b->device->small) { sweep_small(b); }
    add_wide_matrices(b);
    add_many_rows(b);
    add_beyond_integers(b, source);
    for (int i = 0; i < b->count && b->spent <= b->limit && b->probes <= b->most_probes; i++) {
        struct candidate *candidate = &b->candidates[i];
        if (!candidate->is_boundary && !candidate->is_beyond) { solve_candidate(b, &candidate->test); }
    }
}

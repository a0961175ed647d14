#include "explore.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/runner/generate.h"
#include "run.h"

/* ---- properties of a case ---- */

enum {
    P_VALUES = 0, /* + enum input_values */
    P_OTHER_SCALARS = 20,
    P_INEXACT_SCALARS, /* not a value of a 16-bit type */
    P_LENGTHS,
    P_NO_LENGTHS,
    P_UPPER,
    P_LOWER,
    P_REORDERED, /* the same call again, with blocks in another order */
    P_REHEARSED,
    P_REFUSED,
    P_ALL_MOVED,
    P_MOVED,      /* + tensor */
    P_SHARED = 50 /* + number of the pair of output and tensor */
};

_Static_assert((int)VALUES_KINDS <= (int)P_OTHER_SCALARS, "a property for each kind of values");
enum { PROPERTIES = 64, MOST_MOVED = P_SHARED - P_MOVED };

/* Pair k of an output and a tensor whose pointer it may have; false: no such pair. */
static bool shared_pair(const struct op *op, int k, int *output, int *tensor) {
    for (*output = 0; *output < op_tensor_count(op); ++*output) {
        for (*tensor = 0; *tensor < op_tensor_count(op); ++*tensor) {
            if (op_may_alias(op, *output, *tensor) && k-- == 0) { return true; }
        }
    }
    return false;
}

static int pair_number(const struct op *op, int output, int tensor) {
    int o, t, k = 0;
    while (shared_pair(op, k, &o, &t) && !(o == output && t == tensor)) { k++; }
    return k;
}

static bool has_float_scalar(const struct op *op) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        if (op_scalar_at(op, i)->is_float) { return true; }
    }
    return false;
}

static bool has_nullable(const struct op *op) {
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (op->tensor[t].nullable) { return true; }
    }
    return false;
}

/* Every pointer has its own alignment in a kernel of an op on rows or matrices. */
static bool can_move(const struct op *op) {
    return !op_is_on_sequences(op);
}

static uint64_t wanted(const struct op *op) {
    uint64_t all = 1 | 1ull << P_REORDERED | 1ull << P_REHEARSED | 1ull << P_REFUSED;
    int output, tensor;
    all |= op->hard & ((1u << VALUES_KINDS) - 1);
    if (has_float_scalar(op)) { all |= 1ull << P_OTHER_SCALARS | 1ull << P_INEXACT_SCALARS; }
    if (has_nullable(op)) { all |= 1ull << P_LENGTHS | 1ull << P_NO_LENGTHS; }
    if (op_has_scalar(op, "upper")) { all |= 1ull << P_UPPER | 1ull << P_LOWER; }
    if (can_move(op)) {
        all |= 1ull << P_ALL_MOVED;
        for (int t = 0; t < op_tensor_count(op) && t < MOST_MOVED; t++) { all |= 1ull << (P_MOVED + t); }
    }
    for (int k = 0; P_SHARED + k < PROPERTIES && shared_pair(op, k, &output, &tensor); k++) {
        all |= 1ull << (P_SHARED + k);
    }
    return all;
}

static bool scalar_is_inexact(double value) {
    uint32_t bits;
    float single = (float)value;
    memcpy(&bits, &single, sizeof bits);
    return bits & 0xffff;
}

static uint64_t properties_of(const struct op *op, const struct test_case *test) {
    uint64_t all = 1ull << (P_VALUES + test->values);
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        double value = op_scalar_get(op, &test->sizes, i);
        if (!scalar->is_float || (float)value == (float)scalar->usual) { continue; }
        all |= 1ull << (scalar_is_inexact(value) ? P_INEXACT_SCALARS : P_OTHER_SCALARS);
    }
    if (has_nullable(op)) { all |= 1ull << (test->sizes.lengths ? P_LENGTHS : P_NO_LENGTHS); }
    if (op_has_scalar(op, "upper")) { all |= 1ull << (test->sizes.upper ? P_UPPER : P_LOWER); }
    if (test->again && test->shuffled) { all |= 1ull << P_REORDERED; }
    if (test->rehearsed) { all |= 1ull << P_REHEARSED; }
    if (test->refused) { all |= 1ull << P_REFUSED; }
    if (test->offset && !test->moved) { all |= 1ull << P_ALL_MOVED; }
    if (test->offset && test->moved && test->moved <= MOST_MOVED) { all |= 1ull << (P_MOVED + test->moved - 1); }
    if (test->in_place) {
        int k = pair_number(op, test->output, test->in_place - 1);
        if (P_SHARED + k < PROPERTIES) { all |= 1ull << (P_SHARED + k); }
    }
    return all;
}

static void set_scalars(const struct op *op, struct op_sizes *sizes, bool inexact) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (!scalar->is_float) { continue; }
        op_sizes_set(op, sizes, scalar->name, inexact ? scalar->other * 0.8 : scalar->other);
    }
}

/* Gives the case the property. P_REORDERED needs the plain call before it. */
static void apply(const struct op *op, struct test_case *test, int property) {
    int output, tensor;
    if (property < P_OTHER_SCALARS) {
        test->values = (enum input_values)(property - P_VALUES);
        if (inputs_need_lengths(test->values)) { test->sizes.lengths = 1; }
    } else if (property == P_OTHER_SCALARS || property == P_INEXACT_SCALARS) {
        set_scalars(op, &test->sizes, property == P_INEXACT_SCALARS);
    } else if (property == P_LENGTHS || property == P_NO_LENGTHS) {
        test->sizes.lengths = property == P_LENGTHS;
    } else if (property == P_UPPER || property == P_LOWER) {
        test->sizes.upper = property == P_UPPER;
    } else if (property == P_REORDERED) {
        test->again = test->shuffled = true;
    } else if (property == P_REHEARSED) {
        test->rehearsed = true;
    } else if (property == P_REFUSED) {
        test->refused = true;
    } else if (property == P_ALL_MOVED || property < P_SHARED) {
        test->offset = 1;
        test->moved = property == P_ALL_MOVED ? 0 : 1 + property - P_MOVED;
    } else if (shared_pair(op, property - P_SHARED, &output, &tensor)) {
        test->output = output;
        test->in_place = 1 + tensor;
    }
}

bool explore_without(const struct op *op, struct test_case *test, int property) {
    switch (property) {
        case 0: test->values = VALUES_NORMAL; return true;
        case 1:
            for (int i = 0; i < op_scalar_count(op); i++) {
                const struct op_scalar *scalar = op_scalar_at(op, i);
                if (scalar->is_float) { op_sizes_set(op, &test->sizes, scalar->name, scalar->usual); }
            }
            return true;
        case 2: test->offset = test->moved = 0; return true;
        case 3: test->in_place = test->output = 0; return true;
        case 4: test->rehearsed = false; return true;
        default: return false;
    }
}

/* ---- what has been found ---- */

/* In elements of tensors, and about what a call costs besides. */
static uint64_t cost_of(const struct op *op, const struct test_case *test) {
    uint64_t sum = 500;
    for (int t = 0; t < op_tensor_count(op); t++) { sum += op_elements(op, t, &test->sizes); }
    if (test->refused) { return sum / 4; } /* no kernel runs */
    return sum * (test->again || test->rehearsed ? 2 : 1);
}

enum { MOST_ATOMS = 1 << 13, WORDS = MOST_ATOMS / 64, INDEX_SLOTS = 1 << 15, MOST_CANDIDATES = 192 };

typedef uint64_t atom_set[WORDS];

struct candidate {
    struct test_case test;
    uint64_t cost;
    atom_set atoms;
    bool is_boundary; /* it is called as it is, besides */
    uint64_t done;    /* properties that it has been chosen with */
};

struct explorer {
    const struct device *device;
    struct trace *trace;
    const struct op *op;
    enum op_type type;
    uint64_t seed, spent, limit; /* in basic blocks */
    uint64_t events;             /* of the last call */
    int probes, most_probes;
    uint64_t index_atom[INDEX_SLOTS];
    int index_number[INDEX_SLOTS], atom_count;
    atom_set known, data, covered[PROPERTIES];
    uint64_t cheapest[MOST_ATOMS]; /* the least cost of a candidate that reaches the atom */
    struct candidate candidates[MOST_CANDIDATES];
    int count;
};

static bool has(const atom_set set, int i) {
    return set[i / 64] >> (i % 64) & 1;
}

static void add_all(atom_set to, const atom_set from) {
    for (int w = 0; w < WORDS; w++) { to[w] |= from[w]; }
}

static int number_of(struct explorer *e, uint64_t atom) {
    for (uint64_t at = atom, i = 0; i < 64; at++, i++) {
        uint64_t *slot = &e->index_atom[at % INDEX_SLOTS];
        if (*slot == atom) { return e->index_number[at % INDEX_SLOTS]; }
        if (*slot != 0) { continue; }
        if (e->atom_count == MOST_ATOMS) { return -1; }
        *slot = atom;
        return e->index_number[at % INDEX_SLOTS] = e->atom_count++;
    }
    return -1;
}

/* Calls the traced program; false: it has no answer. */
static bool trace_call(struct explorer *e, const struct test_case *test, atom_set atoms) {
    struct result result;
    e->trace->atom_count = 0;
    memset(atoms, 0, sizeof(atom_set));
    e->probes++;
    e->events = 0;
    if (!check_only_call(e->device, e->op, test, &result)) { return false; }
    for (int i = 0; i < e->trace->atom_count; i++) {
        int number = number_of(e, e->trace->atoms[i]);
        if (number >= 0) { atoms[number / 64] |= 1ull << (number % 64); }
    }
    e->events = result.block_events;
    e->spent += result.block_events;
    return true;
}

/* Does a call of that cost reach an atom for the first time, or for less than half the cost? */
static bool has_new(const struct explorer *e, const atom_set atoms, uint64_t cost, int *first) {
    for (int i = 0; i < e->atom_count; i++) {
        if (!has(atoms, i) || has(e->data, i)) { continue; }
        if (has(e->known, i) && e->cheapest[i] <= 2 * cost) { continue; }
        *first = i;
        return true;
    }
    return false;
}

/* Atoms that other inputs of the same sizes do not reach depend on data. */
static void leave_out_data(struct explorer *e, const struct test_case *test, const atom_set atoms) {
    struct test_case other = *test;
    atom_set also;
    other.seed = generate_mix(test->seed + 77);
    if (!trace_call(e, &other, also)) { return; }
    for (int w = 0; w < WORDS; w++) { e->data[w] |= atoms[w] ^ also[w]; }
}

static struct candidate *add_candidate(struct explorer *e, const struct test_case *test, const atom_set atoms) {
    if (e->count == MOST_CANDIDATES) { return NULL; }
    struct candidate *added = &e->candidates[e->count++];
    *added = (struct candidate){.test = *test, .cost = cost_of(e->op, test)};
    memcpy(added->atoms, atoms, sizeof added->atoms);
    return added;
}

/* Traces a call; if it reaches something new, it becomes a candidate. */
static struct candidate *consider(struct explorer *e, const struct test_case *test, atom_set atoms, int *first) {
    uint64_t cost = cost_of(e->op, test);
    if (e->spent > e->limit || e->probes > e->most_probes || !trace_call(e, test, atoms) ||
        !has_new(e, atoms, cost, first)) {
        return NULL;
    }
    if (!has(e->known, *first)) { leave_out_data(e, test, atoms); }
    if (!has_new(e, atoms, cost, first)) { return NULL; }
    struct candidate *added = add_candidate(e, test, atoms);
    for (int i = 0; added && i < e->atom_count; i++) {
        if (has(atoms, i) && (!has(e->known, i) || cost < e->cheapest[i])) { e->cheapest[i] = cost; }
    }
    if (added) { add_all(e->known, atoms); }
    return added;
}

/* ---- sweeps ---- */

enum { MOST_VALUES = 640, LARGEST = 1 << 20 };

static struct test_case usual_case(struct explorer *e) {
    struct test_case test = {.seed = generate_mix(e->seed + (uint64_t)e->probes)};
    switch (e->op->layout) {
        case LAYOUT_ROWS: test.sizes = (struct op_sizes){.N = 2, .C = 36, .eps = 1e-5f}; break;
        case LAYOUT_MATRICES: test.sizes = op_causal_sizes(e->type, 1, 2, 36, 0.0f); break;
        default: test.sizes = op_model_sizes(e->type, 2, 3, 2, 4, 6); break;
    }
    if (op_is_model(e->op)) {
        test.sizes.L = 2;
        test.sizes.V = 11;
    }
    test.sizes.type = e->type;
    op_sizes_complete(e->op, &test.sizes);
    return test;
}

static void set_size(const struct explorer *e, struct op_sizes *sizes, const char *name, int value) {
    int D = sizes->H ? sizes->C / sizes->H : 0;
    op_sizes_set(e->op, sizes, name, value);
    if (strcmp(name, "H") == 0 && op_is_on_sequences(e->op)) { sizes->C = value * D; }
    if (strcmp(name, "N") == 0 && e->op->layout == LAYOUT_ROWS) { sizes->C = value > 4096 ? 1 : 4; }
    if (op_is_on_matrices(e->op) && strcmp(name, "T") != 0) { sizes->T = 4; }
    if (sizes->S < sizes->T + op_is_model(e->op)) { sizes->S = sizes->T + op_is_model(e->op); }
    op_sizes_complete(e->op, sizes);
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

static void add_boundary(struct explorer *e, const struct test_case *test, const atom_set atoms) {
    struct candidate *added = add_candidate(e, test, atoms);
    if (added) { added->is_boundary = true; }
}

/* Between `low`, which does not reach the atom, and `high`, which does. */
static void bisect(struct explorer *e, const char *name, int low, int high, int atom) {
    atom_set atoms, below = {0}, above = {0};
    bool has_below = false, has_above = false;
    struct test_case test = usual_case(e);
    while (high - low > 1) {
        int middle = low + (high - low) / 2, first;
        set_size(e, &test.sizes, name, middle);
        consider(e, &test, atoms, &first);
        if (e->events == 0) { return; }
        bool reached = has(atoms, atom);
        memcpy(reached ? above : below, atoms, sizeof atoms);
        *(reached ? &has_above : &has_below) = true;
        *(reached ? &high : &low) = middle;
    }
    set_size(e, &test.sizes, name, low);
    if (has_below) { add_boundary(e, &test, below); }
    set_size(e, &test.sizes, name, high);
    if (has_above) { add_boundary(e, &test, above); }
}

enum { MOST_ELEMENTS = 3 << 20 }; /* of a traced call */

static void sweep(struct explorer *e, const char *name, const int *values, int count) {
    int before = 0;
    for (int i = 0; i < count && e->spent <= e->limit; i++) {
        atom_set atoms;
        int atom;
        struct test_case test = usual_case(e);
        set_size(e, &test.sizes, name, values[i]);
        if (cost_of(e->op, &test) > (op_is_on_sequences(e->op) ? MOST_ELEMENTS / 256 : MOST_ELEMENTS)) { return; }
        struct candidate *added = consider(e, &test, atoms, &atom);
        if (added && before && values[i] - before > 1) { bisect(e, name, before, values[i], atom); }
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
static int solve(struct explorer *e, const char *name, const int at[2], int *solutions, int count, int capacity) {
    static struct comparison first[RESULT_MAX_COMPARISONS];
    int first_count = 0;
    for (int run = 0; run < 2; run++) {
        struct test_case test = usual_case(e);
        atom_set atoms;
        set_size(e, &test.sizes, name, at[run]);
        if (!trace_call(e, &test, atoms)) { return count; }
        if (run == 0) {
            first_count = e->trace->comparison_count;
            memcpy(first, e->trace->comparisons, (size_t)first_count * sizeof *first);
        }
    }
    for (int i = 0; i < first_count; i++) {
        const struct comparison *a = &first[i];
        const struct comparison *b = find_comparison(e->trace->comparisons, e->trace->comparison_count, a->site);
        for (int constant = 0; b && constant < 2; constant++) {
            int other = 1 - constant;
            int64_t value = a->most[constant], slope = b->most[other] - a->most[other];
            bool is_constant = a->least[constant] == value && b->most[constant] == value && b->least[constant] == value;
            if (!is_constant || slope == 0) { continue; }
            double size = at[0] + (double)(value - a->most[other]) * (at[1] - at[0]) / (double)slope;
            for (int by = -1; by <= 1 && size > at[0] && size < LARGEST && count < capacity; by++) {
                solutions[count++] = (int)size + by;
            }
        }
    }
    return count;
}

/* ---- the choice ---- */

static void cover(struct explorer *e, const struct test_case *test, const atom_set atoms) {
    uint64_t properties = properties_of(e->op, test);
    for (int p = 0; p < PROPERTIES; p++) {
        if (properties >> p & 1) { add_all(e->covered[p], atoms); }
    }
}

static void note_fixed(struct explorer *e, struct exploration *found) {
    static struct test_case cases[EVIDENCE_MAX_CASES];
    for (int kind = CHECK_SHAPES; kind <= CHECK_SECRET; kind++) {
        int count = cases_of(e->op, e->type, (enum check_kind)kind, PUBLISHED_SEED, e->seed, cases, EVIDENCE_MAX_CASES);
        for (int i = 0; i < count; i++) {
            atom_set atoms;
            int first;
            found->fixed_cost += cost_of(e->op, &cases[i]);
            if (cases[i].refused) { continue; }
            if (e->probes >= 3 && e->count == 0) { return; }
            if (cases[i].values == VALUES_NORMAL) {
                consider(e, &cases[i], atoms, &first);
            } else {
                trace_call(e, &cases[i], atoms);
            }
            cover(e, &cases[i], atoms);
        }
    }
}

static int gain(const struct explorer *e, const struct candidate *candidate, uint64_t properties) {
    int sum = 0;
    for (int p = 0; p < PROPERTIES; p++) {
        if (!(properties >> p & 1)) { continue; }
        for (int w = 0; w <= e->atom_count / 64 && w < WORDS; w++) {
            sum += __builtin_popcountll(candidate->atoms[w] & e->known[w] & ~e->data[w] & ~e->covered[p][w]);
        }
    }
    return sum;
}

/* Values go together with other scalars, triangles and lengths: a call has several properties, and one that fails is
 * simplified (check_cases). */
static struct test_case case_with(const struct explorer *e, const struct candidate *candidate, int property) {
    struct test_case test = candidate->test;
    if (property < P_OTHER_SCALARS && property != VALUES_NORMAL) {
        if (has_float_scalar(e->op)) { set_scalars(e->op, &test.sizes, property % 2); }
        if (has_nullable(e->op)) { test.sizes.lengths = property / 2 % 2; }
        if (op_has_scalar(e->op, "upper")) { test.sizes.upper = property / 4 % 2; }
    }
    apply(e->op, &test, property);
    return test;
}

static bool has_elements(const struct op *op, const struct test_case *test) {
    return op_elements(op, 0, &test->sizes) > 0;
}

/* How much more it counts that a branch is reached at all, or that a call is just before or behind a branch's boundary, than
 * that a branch is reached with one more property. */
enum { FIRST_REACHED = 50, BOUNDARY = 50 };

static bool choose_one(struct explorer *e, struct exploration *found, uint64_t all) {
    struct candidate *best = NULL;
    int best_property = 0;
    double best_rate = 0.0;
    for (int i = 0; i < e->count; i++) {
        struct candidate *candidate = &e->candidates[i];
        if (!has_elements(e->op, &candidate->test)) { continue; }
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(all >> p & 1) || candidate->done >> p & 1) { continue; }
            struct test_case test = case_with(e, candidate, p);
            uint64_t cost = cost_of(e->op, &test);
            int won = gain(e, candidate, properties_of(e->op, &test) & all), first = gain(e, candidate, 1);
            if (p == VALUES_NORMAL) { won = FIRST_REACHED * first + BOUNDARY * candidate->is_boundary; }
            uint64_t spent = p == VALUES_NORMAL ? found->plain_cost : found->cost;
            if (spent + cost > found->fixed_cost / (p == VALUES_NORMAL ? 2 : 1)) { continue; }
            double rate = won / (double)cost;
            if (rate > best_rate) { best = candidate, best_property = p, best_rate = rate; }
        }
    }
    if (!best || found->case_count + 2 > EXPLORE_MAX_CASES) { return false; }
    best->done |= 1ull << best_property;
    struct test_case test = case_with(e, best, best_property);
    test.seed = generate_mix(e->seed + 0x1000 + (uint64_t)found->case_count);
    atom_set atoms;
    int first;
    struct test_case plain = test; /* the branches do not depend on the values */
    plain.values = VALUES_NORMAL;
    plain.refused = false;
    plain.seed = best->test.seed;
    memcpy(atoms, best->atoms, sizeof atoms);
    if (memcmp(&plain, &best->test, sizeof plain) != 0) {
        struct candidate *added = consider(e, &plain, atoms, &first);
        if (added) { added->done |= 1ull << best_property; }
    }
    cover(e, &test, atoms);
    *(best_property == VALUES_NORMAL ? &found->plain_cost : &found->cost) += cost_of(e->op, &test);
    if (test.again) {
        struct test_case before = test;
        before.again = before.shuffled = false;
        found->cases[found->case_count++] = before;
    }
    found->cases[found->case_count++] = test;
    return true;
}

void explore(const struct device *traced, struct trace *trace, const struct op *op, enum op_type type,
             const int *integers, int integer_count, uint64_t seed, struct exploration *found) {
    enum { LIMIT_EVENTS = 100000000, SLOW_PROBES = 60 };
    struct explorer *e = calloc(1, sizeof *e);
    memset(found, 0, sizeof *found);
    if (!e) { return; }
    *e = (struct explorer){.device = traced,
                           .trace = trace,
                           .op = op,
                           .type = type,
                           .seed = seed,
                           .limit = UINT64_MAX,
                           .most_probes = INT_MAX};
    note_fixed(e, found);
    if (e->count == 0) { /* it has no answer */
        free(e);
        return;
    }
    e->limit = e->spent + LIMIT_EVENTS;
    if (op_is_on_sequences(op)) { e->most_probes = e->probes + SLOW_PROBES; }
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        int values[MOST_VALUES], solutions[MOST_VALUES], solved, count;
        if (!op_scalar_is_size(scalar)) { continue; }
        count = swept_values(op, integers, integer_count, values);
        sweep(e, scalar->name, values, count);
        solved = solve(e, scalar->name, (const int[]){33, 41}, solutions, 0, MOST_VALUES);
        solved = solve(e, scalar->name, (const int[]){512, 768}, solutions, solved, MOST_VALUES);
        solved = sort_distinct(solutions, solved);
        sweep(e, scalar->name, solutions, solved);
    }
    int sized = e->count;
    for (int i = 0; i < sized; i++) {
        static const int varied[] = {P_ALL_MOVED, P_LENGTHS, P_UPPER, P_OTHER_SCALARS};
        for (size_t k = 0; k < sizeof varied / sizeof *varied; k++) {
            struct test_case test = e->candidates[i].test;
            atom_set atoms;
            int first;
            if (!(wanted(op) >> varied[k] & 1)) { continue; }
            apply(op, &test, varied[k]);
            consider(e, &test, atoms, &first);
        }
    }
    uint64_t all = wanted(op);
    while (choose_one(e, found, all)) {}
    for (int i = 0; i < e->atom_count; i++) {
        if (!has(e->known, i) || has(e->data, i)) { continue; }
        found->atoms++;
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(all >> p & 1)) { continue; }
            found->pairs++;
            found->missing += !has(e->covered[p], i);
        }
    }
    found->probes = e->probes;
    free(e);
}

/* ---- integers of a source ---- */

static void add_integer(int *integers, int *count, int capacity, unsigned long value) {
    if (value < 2 || value > LARGEST) { return; }
    for (int i = 0; i < *count; i++) {
        if (integers[i] == (int)value) { return; }
    }
    if (*count < capacity) { integers[(*count)++] = (int)value; }
}

int explore_integers(const char *text, int *integers, int count, int capacity) {
    while (*text) {
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*') {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
        } else if (isalpha((unsigned char)*text) || *text == '_') {
            while (isalnum((unsigned char)*text) || *text == '_') { text++; }
        } else if (isdigit((unsigned char)*text)) {
            char *end;
            unsigned long value = strtoul(text, &end, 0);
            if (*end != '.' && *end != 'e') { add_integer(integers, &count, capacity, value); }
            while (isalnum((unsigned char)*end) || *end == '.' || *end == '\'') { end++; }
            text = end;
        } else {
            text++;
        }
    }
    return count;
}

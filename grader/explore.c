#include "explore.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "branches.h"
#include "common/runner/generate.h"
#include "run.h"

static void cover(struct branches *b, const struct test_case *test, const atom_set atoms) {
    uint64_t properties = property_of(b->op, test);
    for (int p = 0; p < PROPERTIES; p++) {
        if (properties >> p & 1) { branches_add(b->covered[p], atoms); }
    }
    b->stale |= properties;
}

static void note_fixed(struct branches *b, struct exploration *found) {
    static struct test_case cases[EVIDENCE_MAX_CASES];
    for (int kind = CHECK_SHAPES; kind <= CHECK_SECRET; kind++) {
        int count =
            cases_of(b->op, b->type, (enum check_kind)kind, PUBLISHED_SEED, b->secret, cases, EVIDENCE_MAX_CASES);
        for (int i = 0; i < count; i++) {
            struct test_case once = cases[i]; /* the call that it repeats is another case */
            atom_set atoms;
            int first;
            once.again = false;
            found->fixed_cost += branches_cost(b->op, &once);
            if (cases[i].refused) { continue; }
            if (b->probes >= 3 && b->count == 0) { return; }
            if (cases[i].values == VALUES_NORMAL) {
                branches_consider(b, &cases[i], atoms, &first);
            } else {
                branches_trace(b, &cases[i], atoms);
            }
            cover(b, &cases[i], atoms);
        }
    }
}

static void count_gains(struct branches *b) {
    uint64_t stale = b->counted == b->count ? b->stale : UINT64_MAX;
    for (int i = 0; i < b->count; i++) {
        struct candidate *candidate = &b->candidates[i];
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(stale >> p & 1)) { continue; }
            candidate->gain[p] = 0;
            for (int w = 0; w <= b->atom_count / 64 && w < WORDS; w++) {
                candidate->gain[p] +=
                    __builtin_popcountll(candidate->atoms[w] & b->known[w] & ~b->data[w] & ~b->covered[p][w]);
            }
        }
    }
    b->counted = b->count;
    b->stale = 0;
}

static int gain(const struct candidate *candidate, uint64_t properties) {
    int sum = 0;
    for (uint64_t left = properties; left; left &= left - 1) { sum += candidate->gain[__builtin_ctzll(left)]; }
    return sum;
}

/* Scalars, lengths and triangles alternate with the kinds of values. */
static struct test_case case_with(const struct branches *b, const struct candidate *candidate, int property) {
    static const int pairs[][2] = {{PROPERTY_OTHER_SCALARS, PROPERTY_INEXACT_SCALARS},
                                   {PROPERTY_NO_LENGTHS, PROPERTY_LENGTHS},
                                   {PROPERTY_LOWER, PROPERTY_UPPER}};
    struct test_case test = candidate->test;
    for (int i = 0; i < 3 && property < PROPERTY_OTHER_SCALARS && property != VALUES_NORMAL; i++) {
        int chosen = pairs[i][property >> i & 1];
        if (property_all(b->op) >> chosen & 1) { property_apply(b->op, &test, chosen); }
    }
    property_apply(b->op, &test, property);
    return test;
}

/* Can the case have this property besides, so that neither hides what the other one shows? */
static bool goes_with(const struct test_case *test, int property) {
    bool is_plain = test->values == VALUES_NORMAL || test->values == VALUES_MIXED;
    if (property < PROPERTY_OTHER_SCALARS) {
        return is_plain && !test->again && (!test->in_place || property == VALUES_MIXED);
    }
    if (property < PROPERTY_ALL_MOVED) { return property == PROPERTY_ODD; }
    if (property < PROPERTY_SHARED) { return !test->offset; }
    return !test->in_place && is_plain;
}

/* A call has several properties, and one that fails is simplified (check_cases). Properties are added that leave the candidate's
 * branches as they are, and that some of these have not been reached with. */
static void add_properties(const struct branches *b, const struct candidate *candidate, uint64_t all,
                           struct test_case *test) {
    for (int p = PROPERTIES - 1; p > 0 && !test->refused; p--) {
        bool keeps = p < PROPERTY_OTHER_SCALARS || candidate->same >> p & 1;
        if (!(all >> p & 1) || !keeps || !goes_with(test, p)) { continue; }
        struct test_case more = *test;
        property_apply(b->op, &more, p);
        uint64_t added = property_of(b->op, &more) & ~property_of(b->op, test);
        if (gain(candidate, added & all) > 0) { *test = more; }
    }
}

static bool has_elements(const struct op *op, const struct test_case *test) {
    return op_elements(op, 0, &test->sizes) > 0;
}

/* How much more it counts that a branch is reached at all, or that a call is just before or behind a branch's boundary, than
 * that a branch is reached with one more property. */
enum { FIRST_REACHED = 50, BOUNDARY = 50 };

enum { MOST_BEYOND_CALLS = 5, MOST_COSTLY_CALLS = 8 };
enum { MOST_VARIED = 1 << 23, MOST_COSTLY = 5 << 24 }; /* elements of tensors: of a call, of all costly calls */
enum { MOST_COSTLY_WORK = 3 << 28 };                   /* of all costly calls */

/* All calls but the costly ones together cost about as much as the fixed ones. Plain ones and those beyond a grid cost at most
 * half of it, with boundaries a quarter. Properties have what is left, at least a quarter and at most half. */
static bool is_affordable(const struct exploration *found, int property, bool is_first, uint64_t cost) {
    uint64_t spent = found->plain_cost + found->beyond_cost, half = found->fixed_cost / 2, quarter = half / 2;
    if (property == VALUES_NORMAL) { return spent + cost <= (is_first ? half : quarter); }
    uint64_t left = spent < found->fixed_cost - quarter ? found->fixed_cost - spent : quarter;
    return found->cost + cost <= (left < half ? left : half);
}

static void add_case(struct branches *b, struct exploration *found, struct test_case test) {
    test.seed = generate_mix(b->seed + 0x1000 + (uint64_t)found->case_count) >> 32;
    if (test.again) {
        struct test_case before = test;
        before.again = before.shuffled = false;
        found->cases[found->case_count++] = before;
    }
    found->cases[found->case_count++] = test;
}

/* Calls with more rows or columns than a grid covers: few, whatever they cost. */
static void choose_beyond(struct branches *b, struct exploration *found) {
    for (int i = 0, chosen = 0; i < b->count && chosen < MOST_BEYOND_CALLS; i++) {
        if (!b->candidates[i].is_beyond) { continue; }
        found->beyond_cost += b->candidates[i].cost;
        cover(b, &b->candidates[i].test, b->candidates[i].atoms);
        add_case(b, found, b->candidates[i].test);
        b->candidates[i].done |= 1ull << VALUES_NORMAL;
        chosen++;
    }
}

/* Branches that only large calls reach, and the boundaries of large calls: few, with the properties that hide nothing. */
static void choose_costly(struct branches *b, struct exploration *found, uint64_t all) {
    uint64_t left = MOST_COSTLY, work_left = MOST_COSTLY_WORK;
    for (int chosen = 0; chosen < MOST_COSTLY_CALLS && found->case_count + 2 <= EXPLORE_MAX_CASES; chosen++) {
        struct candidate *best = NULL;
        int most = 0;
        count_gains(b);
        for (int i = 0; i < b->count; i++) {
            struct candidate *candidate = &b->candidates[i];
            bool is_new = candidate->gain[VALUES_NORMAL] > 0 ||
                          (candidate->is_boundary && !(candidate->done >> VALUES_NORMAL & 1));
            if (!is_new || !has_elements(b->op, &candidate->test) || candidate->cost > left ||
                candidate->work > work_left) {
                continue;
            }
            const int won = candidate->gain[VALUES_NORMAL] + candidate->is_boundary;
            if (won > most) { best = candidate, most = won; }
        }
        if (!best) { return; }
        best->done |= 1ull << VALUES_NORMAL;
        struct test_case test = best->test;
        if (best->same >> PROPERTY_ODD & 1) { property_apply(b->op, &test, PROPERTY_ODD); }
        if (all >> PROPERTY_INEXACT_SCALARS & 1) { property_apply(b->op, &test, PROPERTY_INEXACT_SCALARS); }
        cover(b, &test, best->atoms);
        uint64_t cost = branches_cost(b->op, &test);
        left -= cost < left ? cost : left;
        work_left -= best->work;
        add_case(b, found, test);
    }
}

/* Chooses the call that gains most for its cost, with one of the wanted properties. */
static bool choose_one(struct branches *b, struct exploration *found, uint64_t all, uint64_t wanted) {
    struct candidate *best = NULL;
    int best_property = 0;
    double best_rate = 0.0;
    count_gains(b);
    for (int i = 0; i < b->count; i++) {
        struct candidate *candidate = &b->candidates[i];
        if (!has_elements(b->op, &candidate->test)) { continue; }
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(wanted >> p & 1) || candidate->done >> p & 1) { continue; }
            struct test_case test = case_with(b, candidate, p);
            uint64_t cost = branches_cost(b->op, &test);
            int won = gain(candidate, property_of(b->op, &test) & all), first = gain(candidate, 1);
            if (p == VALUES_NORMAL) { won = FIRST_REACHED * first + BOUNDARY * candidate->is_boundary; }
            if (!is_affordable(found, p, first > 0, cost)) { continue; }
            double rate = won / (double)cost;
            if (rate > best_rate) { best = candidate, best_property = p, best_rate = rate; }
        }
    }
    if (!best || found->case_count + 2 > EXPLORE_MAX_CASES) { return false; }
    best->done |= 1ull << best_property;
    struct test_case test = case_with(b, best, best_property);
    add_properties(b, best, all, &test);
    atom_set atoms;
    int first;
    struct test_case plain = test; /* the branches do not depend on the values */
    plain.values = VALUES_NORMAL;
    plain.refused = false;
    plain.seed = best->test.seed;
    memcpy(atoms, best->atoms, sizeof atoms);
    if (memcmp(&plain, &best->test, sizeof plain) != 0) {
        struct candidate *added = branches_consider(b, &plain, atoms, &first);
        if (b->events == 0) { memcpy(atoms, best->atoms, sizeof atoms); }
        if (added) { added->done |= 1ull << best_property; }
    }
    cover(b, &test, atoms);
    uint64_t cost = branches_cost(b->op, &test);
    *(best_property == VALUES_NORMAL ? &found->plain_cost : &found->cost) += cost;
    add_case(b, found, test);
    return true;
}

/* Pointers, lengths, triangles and scalars may change the branches of a candidate, or leave them as they are. */
static void vary(struct branches *b, int i, uint64_t all) {
    for (int p = PROPERTY_OTHER_SCALARS; p < PROPERTIES; p++) {
        struct test_case test = b->candidates[i].test;
        atom_set atoms;
        int first;
        if (!(all >> p & 1) || p == PROPERTY_INEXACT_SCALARS || (p >= PROPERTY_REORDERED && p < PROPERTY_ODD)) {
            continue;
        }
        property_apply(b->op, &test, p);
        branches_consider(b, &test, atoms, &first);
        if (b->events > 0 && branches_are_same(b, atoms, b->candidates[i].atoms)) {
            b->candidates[i].same |= 1ull << p;
        }
    }
}

/* A call at a boundary is like another candidate with the same branches. */
static void vary_boundaries(struct branches *b) {
    for (int i = 0; i < b->count; i++) {
        struct candidate *boundary = &b->candidates[i];
        for (int k = 0; boundary->is_boundary && k < b->count && !boundary->same; k++) {
            const struct candidate *other = &b->candidates[k];
            if (branches_are_same(b, boundary->atoms, other->atoms)) { boundary->same = other->same; }
        }
    }
}

/* Branches that only calls without elements reach need no properties. */
static void count_missing(const struct branches *b, struct exploration *found, uint64_t all) {
    atom_set reached = {0};
    for (int i = 0; i < b->count; i++) {
        if (has_elements(b->op, &b->candidates[i].test)) { branches_add(reached, b->candidates[i].atoms); }
    }
    for (int i = 0; i < b->atom_count; i++) {
        if (!branches_has(b->known, i) || branches_has(b->data, i)) { continue; }
        found->atoms++;
        for (int p = 0; p < PROPERTIES && branches_has(reached, i); p++) {
            if (!(all >> p & 1)) { continue; }
            found->pairs++;
            found->missing += !branches_has(b->covered[p], i);
            found->untried[p] += !branches_has(b->covered[p], i);
        }
    }
}

void explore(const struct device *traced, struct trace *trace, const struct op *op, enum op_type type,
             const struct source *source, uint64_t secret, struct exploration *found) {
    enum { LIMIT_EVENTS = 100000000, SLOW_PROBES = 150 };
    struct branches *b = calloc(1, sizeof *b);
    memset(found, 0, sizeof *found);
    if (!b) { return; }
    *b = (struct branches){.device = traced,
                           .trace = trace,
                           .op = op,
                           .type = type,
                           .secret = secret,
                           .seed = generate_mix(secret ^ source->hash),
                           .limit = UINT64_MAX,
                           .most_probes = INT_MAX};
    note_fixed(b, found);
    if (b->count == 0) { /* it has no answer */
        free(b);
        return;
    }
    b->limit = b->spent + LIMIT_EVENTS;
    if (op_is_on_sequences(op)) { b->most_probes = b->probes + SLOW_PROBES; }
    branches_sweep(b, source);
    b->limit = b->spent + LIMIT_EVENTS / 2;
    uint64_t all = property_all(op);
    for (int i = 0, sized = b->count; i < sized; i++) {
        const struct candidate *candidate = &b->candidates[i];
        if (!candidate->is_boundary && !candidate->is_beyond && candidate->cost <= MOST_VARIED) { vary(b, i, all); }
    }
    vary_boundaries(b);
    choose_beyond(b, found);
    all |= (uint64_t)inputs_can_mix(op) << VALUES_MIXED;
    while (choose_one(b, found, all, 1ull << VALUES_NORMAL)) {}
    choose_costly(b, found, all);
    while (choose_one(b, found, all, all)) {}
    count_missing(b, found, property_all(op));
    found->probes = b->probes;
    free(b);
}

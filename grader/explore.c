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
}

static void note_fixed(struct branches *b, struct exploration *found) {
    static struct test_case cases[EVIDENCE_MAX_CASES];
    for (int kind = CHECK_SHAPES; kind <= CHECK_SECRET; kind++) {
        int count =
            cases_of(b->op, b->type, (enum check_kind)kind, PUBLISHED_SEED, b->secret, cases, EVIDENCE_MAX_CASES);
        for (int i = 0; i < count; i++) {
            atom_set atoms;
            int first;
            found->fixed_cost += branches_cost(b->op, &cases[i]);
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

static int gain(const struct branches *b, const struct candidate *candidate, uint64_t properties) {
    int sum = 0;
    for (int p = 0; p < PROPERTIES; p++) {
        if (!(properties >> p & 1)) { continue; }
        for (int w = 0; w <= b->atom_count / 64 && w < WORDS; w++) {
            sum += __builtin_popcountll(candidate->atoms[w] & b->known[w] & ~b->data[w] & ~b->covered[p][w]);
        }
    }
    return sum;
}

/* Values go together with other scalars, triangles and lengths: a call has several properties, and one that fails is
 * simplified (check_cases). */
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

static bool has_elements(const struct op *op, const struct test_case *test) {
    return op_elements(op, 0, &test->sizes) > 0;
}

/* How much more it counts that a branch is reached at all, or that a call is just before or behind a branch's boundary, than
 * that a branch is reached with one more property. */
enum { FIRST_REACHED = 50, BOUNDARY = 50 };

static bool choose_one(struct branches *b, struct exploration *found, uint64_t all) {
    struct candidate *best = NULL;
    int best_property = 0;
    double best_rate = 0.0;
    for (int i = 0; i < b->count; i++) {
        struct candidate *candidate = &b->candidates[i];
        if (!has_elements(b->op, &candidate->test)) { continue; }
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(all >> p & 1) || candidate->done >> p & 1) { continue; }
            struct test_case test = case_with(b, candidate, p);
            uint64_t cost = branches_cost(b->op, &test);
            int won = gain(b, candidate, property_of(b->op, &test) & all), first = gain(b, candidate, 1);
            if (p == VALUES_NORMAL) { won = FIRST_REACHED * first + BOUNDARY * candidate->is_boundary; }
            uint64_t spent = p == VALUES_NORMAL ? found->plain_cost : found->cost;
            if (spent + cost > found->fixed_cost / (p == VALUES_NORMAL ? 2 : 1)) { continue; }
            double rate = won / (double)cost;
            if (rate > best_rate) { best = candidate, best_property = p, best_rate = rate; }
        }
    }
    if (!best || found->case_count + 2 > EXPLORE_MAX_CASES) { return false; }
    best->done |= 1ull << best_property;
    struct test_case test = case_with(b, best, best_property);
    test.seed = generate_mix(b->seed + 0x1000 + (uint64_t)found->case_count);
    atom_set atoms;
    int first;
    struct test_case plain = test; /* the branches do not depend on the values */
    plain.values = VALUES_NORMAL;
    plain.refused = false;
    plain.seed = best->test.seed;
    memcpy(atoms, best->atoms, sizeof atoms);
    if (memcmp(&plain, &best->test, sizeof plain) != 0) {
        struct candidate *added = branches_consider(b, &plain, atoms, &first);
        if (added) { added->done |= 1ull << best_property; }
    }
    cover(b, &test, atoms);
    *(best_property == VALUES_NORMAL ? &found->plain_cost : &found->cost) += branches_cost(b->op, &test);
    if (test.again) {
        struct test_case before = test;
        before.again = before.shuffled = false;
        found->cases[found->case_count++] = before;
    }
    found->cases[found->case_count++] = test;
    return true;
}

void explore(const struct device *traced, struct trace *trace, const struct op *op, enum op_type type,
             const struct source *source, uint64_t secret, struct exploration *found) {
    enum { LIMIT_EVENTS = 100000000, SLOW_PROBES = 60 };
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
    int sized = b->count;
    for (int i = 0; i < sized; i++) {
        static const int varied[] = {PROPERTY_ALL_MOVED, PROPERTY_LENGTHS, PROPERTY_UPPER, PROPERTY_OTHER_SCALARS};
        for (size_t k = 0; k < sizeof varied / sizeof *varied; k++) {
            struct test_case test = b->candidates[i].test;
            atom_set atoms;
            int first;
            if (!(property_all(op) >> varied[k] & 1)) { continue; }
            property_apply(op, &test, varied[k]);
            branches_consider(b, &test, atoms, &first);
        }
    }
    uint64_t all = property_all(op);
    while (choose_one(b, found, all)) {}
    for (int i = 0; i < b->atom_count; i++) {
        if (!branches_has(b->known, i) || branches_has(b->data, i)) { continue; }
        found->atoms++;
        for (int p = 0; p < PROPERTIES; p++) {
            if (!(all >> p & 1)) { continue; }
            found->pairs++;
            found->missing += !branches_has(b->covered[p], i);
            found->untried[p] += !branches_has(b->covered[p], i);
        }
    }
    found->probes = b->probes;
    free(b);
}

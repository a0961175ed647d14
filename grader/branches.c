#include "branches.h"

#include <string.h>

#include "common/runner/generate.h"
#include "progress.h"

uint64_t branches_cost(const struct op *op, const struct test_case *test) {
    uint64_t sum = 500;
    for (int t = 0; t < op_tensor_count(op); t++) { sum += op_elements(op, t, &test->sizes); }
    if (test->refused) { return sum / 4; } /* no kernel runs */
    return sum * (test->again || test->rehearsed ? 2 : 1);
}

bool branches_has(const atom_set set, int i) {
    return set[i / 64] >> (i % 64) & 1;
}

void branches_add(atom_set to, const atom_set from) {
    for (int w = 0; w < WORDS; w++) { to[w] |= from[w]; }
}

static int number_of(struct branches *b, uint64_t atom) {
    for (uint64_t at = atom, i = 0; i < 64; at++, i++) {
        uint64_t *slot = &b->index_atom[at % INDEX_SLOTS];
        if (*slot == atom) { return b->index_number[at % INDEX_SLOTS]; }
        if (*slot != 0) { continue; }
        if (b->atom_count == MOST_ATOMS) { return -1; }
        *slot = atom;
        return b->index_number[at % INDEX_SLOTS] = b->atom_count++;
    }
    return -1;
}

bool branches_trace(struct branches *b, const struct test_case *test, atom_set atoms) {
    struct result result;
    b->trace->atom_count = 0;
    memset(atoms, 0, sizeof(atom_set));
    progress_call(++b->probes, 0);
    b->events = b->blocks = b->work = 0;
    if (!check_only_call(b->device, b->op, test, &result)) { return false; }
    for (int i = 0; i < b->trace->atom_count; i++) {
        int number = number_of(b, b->trace->atoms[i]);
        if (number >= 0) { atoms[number / 64] |= 1ull << (number % 64); }
    }
    /* A launch that fails is a branch, too, where the source has none. */
    int failed = number_of(b, generate_mix(((uint64_t)(unsigned)result.status << 32 | (unsigned)result.error) + 1) | 1);
    if (failed >= 0) { atoms[failed / 64] |= 1ull << (failed % 64); }
    b->events = result.block_events;
    b->blocks = result.counters.blocks;
    uint64_t ran = EXPLORE_BLOCKS * result.counters.launches;
    b->work = result.block_events * (b->blocks > ran && ran ? b->blocks / ran : 1);
    b->spent += result.block_events;
    return true;
}

/* Does a call of that cost reach an atom for the first time, or for less than half the cost? */
static bool has_new(const struct branches *b, const atom_set atoms, uint64_t cost, int *first) {
    for (int i = 0; i < b->atom_count; i++) {
        if (!branches_has(atoms, i) || branches_has(b->data, i)) { continue; }
        if (branches_has(b->known, i) && b->cheapest[i] <= 2 * cost) { continue; }
        *first = i;
        return true;
    }
    return false;
}

bool branches_are_same(const struct branches *b, const atom_set one, const atom_set other) {
    for (int w = 0; w < WORDS; w++) {
        if ((one[w] ^ other[w]) & ~b->data[w]) { return false; }
    }
    return true;
}

/* Atoms that other inputs of the same sizes do not reach depend on data. */
static void leave_out_data(struct branches *b, const struct test_case *test, const atom_set atoms) {
    struct test_case other = *test;
    atom_set also;
    other.seed = generate_mix(test->seed + 77);
    if (!branches_trace(b, &other, also)) { return; }
    for (int w = 0; w < WORDS; w++) { b->data[w] |= atoms[w] ^ also[w]; }
}

struct candidate *branches_add_candidate(struct branches *b, const struct test_case *test, const atom_set atoms) {
    if (b->count == MOST_CANDIDATES) { return NULL; }
    struct candidate *added = &b->candidates[b->count++];
    *added = (struct candidate){.test = *test, .cost = branches_cost(b->op, test), .work = b->work};
    memcpy(added->atoms, atoms, sizeof added->atoms);
    return added;
}

struct candidate *branches_consider(struct branches *b, const struct test_case *test, atom_set atoms, int *first) {
    uint64_t cost = branches_cost(b->op, test);
    b->events = b->blocks = b->work = 0;
    if (b->spent > b->limit || b->probes > b->most_probes || !branches_trace(b, test, atoms) ||
        !has_new(b, atoms, cost, first)) {
        return NULL;
    }
    if (!branches_has(b->known, *first)) { leave_out_data(b, test, atoms); }
    if (!has_new(b, atoms, cost, first)) { return NULL; }
    struct candidate *added = branches_add_candidate(b, test, atoms);
    for (int i = 0; added && i < b->atom_count; i++) {
        if (branches_has(atoms, i) && (!branches_has(b->known, i) || cost < b->cheapest[i])) { b->cheapest[i] = cost; }
    }
    if (added) { branches_add(b->known, atoms); }
    return added;
}

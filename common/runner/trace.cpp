/* trace.cpp — records the branches of a call. The lab's files are compiled without optimisation, so that each branch of the
 * source is one of the program, with calls of the functions below (-fsanitize-coverage=trace-pc,trace-cmp): at each basic block,
 * and at each comparison of integers, with its operands.
 *
 * An atom is a basic block, or the outcome (<, =, >) of a comparison; the same code called from two places counts as two.
 * The program runs on one OS thread (SIMT_THREADS=1).
 */
#include "trace.h"

#include <string.h>

#include "wire.h"

namespace {

enum { SLOTS = 1 << 15, MOST_PROBES = 64 };

bool recording;
uint64_t events;
uint64_t atoms[SLOTS]; /* open addressing; 0: free */
struct comparison comparisons[SLOTS];
int atom_count, comparison_count;

uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

void add_atom(uint64_t atom) {
    for (uint64_t at = atom, probe = 0; probe < MOST_PROBES; at++, probe++) {
        uint64_t *slot = &atoms[at % SLOTS];
        if (*slot == atom) { return; }
        if (*slot == 0 && atom_count < RESULT_MAX_ATOMS) {
            *slot = atom;
            atom_count++;
            return;
        }
    }
}

void widen(struct comparison *seen, int64_t a, int64_t b) {
    const int64_t operand[] = {a, b};
    for (int i = 0; i < 2; i++) {
        seen->least[i] = operand[i] < seen->least[i] ? operand[i] : seen->least[i];
        seen->most[i] = operand[i] > seen->most[i] ? operand[i] : seen->most[i];
    }
}

void add_comparison(uint64_t site, int64_t a, int64_t b) {
    add_atom(mix(site + (a < b ? 1 : a == b ? 2 : 3)) | 1);
    for (uint64_t at = site, probe = 0; probe < MOST_PROBES; at++, probe++) {
        struct comparison *slot = &comparisons[at % SLOTS];
        if (slot->site == site) { return widen(slot, a, b); }
        if (slot->site == 0 && comparison_count < RESULT_MAX_COMPARISONS) {
            *slot = {site, {a, b}, {a, b}};
            comparison_count++;
            return;
        }
    }
}

} // namespace

#pragma GCC diagnostic ignored "-Wframe-address" /* the lab's code and this have frame pointers */

/* The place in the lab's code, and the place from which that function was called. */
#define SITE \
    (mix((uint64_t)(uintptr_t)__builtin_return_address(0) * 31 + (uint64_t)(uintptr_t)__builtin_return_address(1)) | 1)

extern "C" {

void trace_pc(void) { /* __sanitizer_cov_trace_pc, renamed by simt-cc --traced */
    if (!recording) { return; }
    events++;
    add_atom(SITE);
}

#define COMPARES(name, type)                                             \
    void name(type a, type b) {                                          \
        if (recording) { add_comparison(SITE, (int64_t)a, (int64_t)b); } \
    }
COMPARES(__sanitizer_cov_trace_cmp1, int8_t)
COMPARES(__sanitizer_cov_trace_cmp2, int16_t)
COMPARES(__sanitizer_cov_trace_cmp4, int32_t)
COMPARES(__sanitizer_cov_trace_cmp8, int64_t)
COMPARES(__sanitizer_cov_trace_const_cmp1, int8_t)
COMPARES(__sanitizer_cov_trace_const_cmp2, int16_t)
COMPARES(__sanitizer_cov_trace_const_cmp4, int32_t)
COMPARES(__sanitizer_cov_trace_const_cmp8, int64_t)
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}

/* cases[0]: their number; cases[1]: the bits of the value; then the cases. */
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) {
    if (!recording) { return; }
    uint64_t site = SITE;
    for (uint64_t i = 0; i < cases[0]; i++) {
        add_comparison(mix(site + i) | 1, (int64_t)cases[2 + i], (int64_t)value);
    }
}

void trace_begin(void) {
    memset(atoms, 0, sizeof atoms);
    memset(comparisons, 0, sizeof comparisons);
    atom_count = comparison_count = 0;
    events = 0;
    recording = true;
}

void trace_end(struct result *result) {
    recording = false;
    result->atom_count = atom_count;
    result->comparison_count = comparison_count;
    result->block_events = events;
}

void trace_send(void) {
    for (int i = 0; i < SLOTS; i++) {
        if (atoms[i]) { wire_write(&atoms[i], sizeof atoms[i]); }
    }
    for (int i = 0; i < SLOTS; i++) {
        if (comparisons[i].site) { wire_write(&comparisons[i], sizeof comparisons[i]); }
    }
}
}

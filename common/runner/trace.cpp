/* trace.cpp — records the branches of a call. The lab's files are compiled without optimisation, so that each branch of the
 * source is one of the program, with calls of the functions below (-fsanitize-coverage=trace-pc,trace-cmp): at each basic block,
 * and at each comparison of integers, with its operands.
 *
 * An atom is a basic block, or the outcome (<, =, >) of a comparison; the same code called from two places counts as two.
 * The program runs on one OS thread (SIMT_THREADS=1). With TRACE_LINES=1 it records the executed lines only, which takes less
 * time (lines.cpp).
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "wire.h"

extern "C" const char __executable_start;
extern "C" bool simt_on_device(void) noexcept;

namespace {

enum { SLOTS = 1 << 15, MOST_PROBES = 64 };

bool recording;
uint64_t events;

/* In the order of their first occurrence, which, unlike addresses, is the same on every machine; and where they are found. */
uint64_t atoms[RESULT_MAX_ATOMS];
struct comparison comparisons[RESULT_MAX_COMPARISONS];
int atom_count, comparison_count;
int atom_at[SLOTS], comparison_at[SLOTS]; /* open addressing; 1 + index, 0: free */

/* Of each byte of the program's code: where the basic block was executed, in any call, behind whose hook it lies. */
enum { CODE_BYTES = 1 << 23 };
unsigned char ran[CODE_BYTES];

uintptr_t code_offset(uintptr_t pc) {
    return (pc - (uintptr_t)&__executable_start) % CODE_BYTES;
}

uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

void add_atom(uint64_t atom) {
    for (uint64_t at = atom, probe = 0; probe < MOST_PROBES; at++, probe++) {
        int *slot = &atom_at[at % SLOTS];
        if (*slot && atoms[*slot - 1] == atom) { return; }
        if (*slot == 0 && atom_count < RESULT_MAX_ATOMS) {
            atoms[atom_count++] = atom;
            *slot = atom_count;
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
        int *slot = &comparison_at[at % SLOTS];
        if (*slot && comparisons[*slot - 1].site == site) { return widen(&comparisons[*slot - 1], a, b); }
        if (*slot == 0 && comparison_count < RESULT_MAX_COMPARISONS) {
            comparisons[comparison_count++] = {site, {a, b}, {a, b}};
            *slot = comparison_count;
            return;
        }
    }
}

/* The place in the lab's code, and the place from which that function was called. The lab's code has frame pointers: at each
 * lie the caller's frame pointer and the return address. (On ARM, __builtin_return_address(1) is 0.) */
#define SITE (site_of(__builtin_return_address(0), static_cast<void **>(__builtin_frame_address(0))))

uint64_t site_of(void *here, void **frame) {
    void **labs = static_cast<void **>(frame[0]);
    return mix((uint64_t)(uintptr_t)here * 0x9e3779b97f4a7c15u + (uint64_t)(uintptr_t)labs[1]) | 1;
}

} // namespace

extern "C" {

void trace_pc(void) { /* __sanitizer_cov_trace_pc, renamed by simt-cc --traced */
    ran[code_offset((uintptr_t)__builtin_return_address(0))] |= simt_on_device() ? RAN_IN_KERNEL : RAN_ON_HOST;
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

int trace_ran(uintptr_t pc) {
    return ran[code_offset(pc)];
}

void trace_begin(void) {
    memset(atom_at, 0, sizeof atom_at);
    memset(comparison_at, 0, sizeof comparison_at);
    atom_count = comparison_count = 0;
    events = 0;
    recording = !getenv("TRACE_LINES");
}

void trace_end(struct result *result) {
    recording = false;
    result->atom_count = atom_count;
    result->comparison_count = comparison_count;
    result->block_events = events;
}

void trace_send(void) {
    wire_write(atoms, (size_t)atom_count * sizeof *atoms);
    wire_write(comparisons, (size_t)comparison_count * sizeof *comparisons);
}
}

/* program.h — random structured kernels: made from a seed, printed as CUDA, and run lane by lane under masks.
 *
 * In the interpreter the lanes of a warp diverge at branches and reconverge at the end of each construct, as in hardware
 * for structured code. The backend must get the same counters from the traces of the compiled kernel.
 */
#ifndef SIMT_TESTS_PROGRAM_H
#define SIMT_TESTS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MEMORY_WORDS = 4096, SHARED_WORDS = 1024, VARIABLES = 4, FUNCTIONS = 3, STATEMENTS = 400, MAX_LOOPS = 40 };

/* ((a * ca + b * cb + c) >> shift) % modulus */
enum source { LANE, ARGUMENT, CONSTANT_N, FIRST_VARIABLE, FIRST_COUNTER = FIRST_VARIABLE + VARIABLES };
struct term {
    unsigned a, b; /* enum source, or FIRST_COUNTER + loop */
    uint32_t ca, cb, c, modulus;
    unsigned shift;
};

enum kind {
    LOAD,
    STORE,
    ATOMIC_KEEP, /* a maximum with 0: returns the value and leaves it, so it is a poll */
    ATOMIC_ADD,
    ASSIGN,
    IF,
    FOR,
    WHILE,
    DO,
    ENDLESS,
    SWITCH,
    BREAK,
    CONTINUE,
    RETURN,
    CALL,
    PARTIAL, /* if (lanes of a constant mask) */
    SYNCWARP,
    SHUFFLE,
};
enum space { GLOBAL_IN, GLOBAL_OUT, SHARED_IN, SHARED_OUT };

struct statement {
    enum kind kind;
    struct term term; /* index, value, condition, bound, argument */
    uint32_t limit;   /* condition: term < limit; bound: its constant part */
    enum space space;
    unsigned size_log2;
    bool is_volatile;       /* LOAD, STORE */
    unsigned target;        /* variable, loop, function */
    uint32_t mask;          /* PARTIAL, SYNCWARP, SHUFFLE */
    unsigned lane_distance; /* SHUFFLE */
    uint32_t n;             /* CALL: template argument */
    unsigned cases;         /* SWITCH */
    bool falls_through[4];
    struct statement *body[4]; /* then/else, loop body, cases */
    struct statement *next;
};

struct function {
    bool is_template, is_inline;
    struct statement *body;
};

struct program {
    uint64_t seed, state;
    unsigned block, grid;
    struct function function[FUNCTIONS];
    struct statement *kernel;
    struct statement pool[STATEMENTS];
    unsigned used, loops;
};

struct counts {
    uint64_t load_requests, store_requests, load_sectors, store_sectors, load_bytes, store_bytes; /* global */
    uint64_t shared_load_requests, shared_store_requests, bank_conflicts;
    uint64_t atomic_requests, atomic_sectors, atomic_bytes, shared_atomic_requests;
    uint64_t syncs, shuffles;
    uint32_t result; /* sum over all threads: do kernel and interpreter mean the same program? */
};

void program_make(struct program *program, uint64_t seed);
void program_print(const struct program *program, FILE *out); /* defines run_SEED(), kernel and functions */
void program_run(const struct program *program, struct counts *out);

static inline uint32_t memory_word(uint32_t i) {
    return i * 2654435761u >> 7;
}
static inline uint32_t shared_word(uint32_t i) {
    return i * 40503u + 11;
}

#endif

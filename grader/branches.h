/* branches.h — which branches a call of a submission takes, by its traced program (common/runner/trace.cpp), and the sizes that
 * reach them. Shared by branches.c, sweep.c and explore.c.
 *
 * The atoms of a call are the basic blocks and the outcomes of comparisons that it reaches. Atoms that depend on the data are
 * left out: they are reached with some inputs of a size and not with others. A candidate is a call that reaches an atom for
 * the first time, or for less than half the cost.
 */
#ifndef BRANCHES_H
#define BRANCHES_H

#include "explore.h"
#include "property.h"

enum { MOST_ATOMS = 1 << 13, WORDS = MOST_ATOMS / 64, INDEX_SLOTS = 1 << 15, MOST_CANDIDATES = 192 };

typedef uint64_t atom_set[WORDS];

struct candidate {
    struct test_case test;
    uint64_t cost;
    uint64_t work; /* the basic blocks that all blocks of its launches execute, about */
    atom_set atoms;
    bool is_boundary;     /* it is called as it is, besides */
    bool is_beyond;       /* it has more rows or columns than a grid that no longer grows, or than 16 bits count */
    uint64_t same;        /* properties that leave its branches as they are */
    uint64_t done;        /* properties that it has been chosen with */
    int gain[PROPERTIES]; /* its branches that no call has reached with the property */
};

enum { MOST_WORK = 32 << 20 }; /* of one call */

struct branches {
    const struct device *device;
    struct trace *trace;
    const struct op *op;
    enum op_type type;
    uint64_t secret, seed; /* of the fixed cases; with the source's hash, of all others */
    uint64_t spent, limit; /* in basic blocks */
    uint64_t events;       /* of the last call; 0: it was not made */
    uint64_t blocks, work; /* of its launches: their blocks; the basic blocks that all of them execute, about */
    int probes, most_probes;
    bool small; /* sizes are swept on the small device */
    uint64_t index_atom[INDEX_SLOTS];
    int index_number[INDEX_SLOTS], atom_count;
    atom_set known, data, covered[PROPERTIES];
    uint64_t cheapest[MOST_ATOMS]; /* the least cost of a candidate that reaches the atom */
    struct candidate candidates[MOST_CANDIDATES];
    int count;
    int counted;    /* candidates whose gains are known, */
    uint64_t stale; /* but for these properties */
};

/* In elements of tensors, and about what a call costs besides. */
uint64_t branches_cost(const struct op *op, const struct test_case *test);

bool branches_has(const atom_set set, int atom);
void branches_add(atom_set to, const atom_set from);

/* Calls the traced program; false: it has no answer. */
bool branches_trace(struct branches *b, const struct test_case *test, atom_set atoms);

/* Traces a call. If it reaches something new, it becomes a candidate, and `first` is the first new atom; else NULL. */
struct candidate *branches_consider(struct branches *b, const struct test_case *test, atom_set atoms, int *first);

/* The same for a call that is known to be worth it; NULL: there is no room. */
struct candidate *branches_add_candidate(struct branches *b, const struct test_case *test, const atom_set atoms);

/* Do two calls take the same branches, apart from those that depend on data? */
bool branches_are_same(const struct branches *b, const atom_set one, const atom_set other);

/* Varies one size at a time, and of the candidates the sizes that their own comparisons name. sweep.c */
void branches_sweep(struct branches *b, const struct source *source);

#endif

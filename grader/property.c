#include "property.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)VALUES_KINDS <= (int)PROPERTY_OTHER_SCALARS, "a property for each kind of values");
enum { MOST_MOVED = PROPERTY_SHARED - PROPERTY_MOVED };

static uint64_t bit(int property) {
    return 1ull << property;
}

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

static bool is_odd(const struct op *op, const struct op_sizes *sizes) {
    return !op_is_on_sequences(op) && op_elements(op, 0, sizes) % 2 == 1;
}

static void make_odd(const struct op *op, struct op_sizes *sizes) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (!op_scalar_is_size(scalar)) { continue; }
        op_sizes_set(op, sizes, scalar->name, (int)op_scalar_get(op, sizes, i) | 1);
    }
    op_sizes_complete(op, sizes);
}

uint64_t property_all(const struct op *op) {
    uint64_t all = bit(PROPERTY_VALUES + VALUES_NORMAL) | bit(PROPERTY_REORDERED) | bit(PROPERTY_REHEARSED) |
                   bit(PROPERTY_REFUSED);
    int output, tensor;
    all |= op->hard;
    if (op->layout == LAYOUT_ROWS) { all |= bit(PROPERTY_ROWS); }
    if (has_float_scalar(op)) { all |= bit(PROPERTY_OTHER_SCALARS) | bit(PROPERTY_INEXACT_SCALARS); }
    if (has_nullable(op)) { all |= bit(PROPERTY_LENGTHS) | bit(PROPERTY_NO_LENGTHS); }
    if (op_has_scalar(op, "upper")) { all |= bit(PROPERTY_UPPER) | bit(PROPERTY_LOWER); }
    if (can_move(op)) {
        all |= bit(PROPERTY_ODD) | bit(PROPERTY_ALL_MOVED);
        for (int t = 0; t < op_tensor_count(op) && t < MOST_MOVED; t++) { all |= bit(PROPERTY_MOVED + t); }
    }
    for (int k = 0; PROPERTY_SHARED + k < PROPERTIES && shared_pair(op, k, &output, &tensor); k++) {
        all |= bit(PROPERTY_SHARED + k);
    }
    return all;
}

static bool scalar_is_inexact(double value) {
    uint32_t bits;
    float single = (float)value;
    memcpy(&bits, &single, sizeof bits);
    return bits & 0xffff;
}

/* An eps is lost beside a large variance, and a scale beside a large maximum. */
static bool shows_scalars(enum input_values values) {
    switch (values) {
        case VALUES_NORMAL:
        case VALUES_SMALL:
        case VALUES_MINUS_INF:
        case VALUES_ROW_MINUS_INF:
        case VALUES_MASKED_NAN:
        case VALUES_MIXED:
        case VALUES_LENGTHS: return true;
        default: return false;
    }
}

static uint64_t scalars_of(const struct op *op, const struct test_case *test) {
    uint64_t all = 0;
    for (int i = 0; shows_scalars(test->values) && i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        double value = op_scalar_get(op, &test->sizes, i);
        if (!scalar->is_float || (float)value == (float)scalar->usual) { continue; }
        all |= bit(scalar_is_inexact(value) ? PROPERTY_INEXACT_SCALARS : PROPERTY_OTHER_SCALARS);
    }
    return all;
}

/* A mixed call has rows enough of each kind. */
static uint64_t values_of(const struct op *op, const struct test_case *test) {
    enum { ROWS_OF_ALL_KINDS = 100 };
    if (test->values != VALUES_MIXED) { return bit(PROPERTY_VALUES + (int)test->values); }
    return test->sizes.N < ROWS_OF_ALL_KINDS ? 0 : op->hard & ~(uint64_t)HARD(VALUES_LENGTHS);
}

uint64_t property_of(const struct op *op, const struct test_case *test) {
    if (test->refused) { return bit(PROPERTY_REFUSED); } /* no kernel runs */
    uint64_t all = values_of(op, test) | scalars_of(op, test);
    if (op->layout == LAYOUT_ROWS && test->sizes.N > 1) { all |= bit(PROPERTY_ROWS); }
    if (has_nullable(op)) { all |= bit(test->sizes.lengths ? PROPERTY_LENGTHS : PROPERTY_NO_LENGTHS); }
    if (op_has_scalar(op, "upper")) { all |= bit(test->sizes.upper ? PROPERTY_UPPER : PROPERTY_LOWER); }
    if (test->again && test->shuffled) { all |= bit(PROPERTY_REORDERED); }
    if (test->rehearsed) { all |= bit(PROPERTY_REHEARSED); }
    if (test->small) { all |= bit(PROPERTY_SMALL); }
    if (is_odd(op, &test->sizes)) { all |= bit(PROPERTY_ODD); }
    if (test->offset && !test->moved) { all |= bit(PROPERTY_ALL_MOVED); }
    if (test->offset && test->moved && test->moved <= MOST_MOVED) { all |= bit(PROPERTY_MOVED + test->moved - 1); }
    if (test->in_place) {
        int k = pair_number(op, test->output, test->in_place - 1);
        if (PROPERTY_SHARED + k < PROPERTIES) { all |= bit(PROPERTY_SHARED + k); }
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

void property_apply(const struct op *op, struct test_case *test, int property) {
    int output, tensor;
    if (property < PROPERTY_OTHER_SCALARS) {
        test->values = (enum input_values)(property - PROPERTY_VALUES);
        if (inputs_need_lengths(test->values)) { test->sizes.lengths = 1; }
    } else if (property == PROPERTY_OTHER_SCALARS || property == PROPERTY_INEXACT_SCALARS) {
        set_scalars(op, &test->sizes, property == PROPERTY_INEXACT_SCALARS);
    } else if (property == PROPERTY_LENGTHS || property == PROPERTY_NO_LENGTHS) {
        test->sizes.lengths = property == PROPERTY_LENGTHS;
    } else if (property == PROPERTY_UPPER || property == PROPERTY_LOWER) {
        test->sizes.upper = property == PROPERTY_UPPER;
    } else if (property == PROPERTY_REORDERED) {
        test->again = test->shuffled = true;
    } else if (property == PROPERTY_REHEARSED) {
        test->rehearsed = true;
    } else if (property == PROPERTY_REFUSED) {
        test->refused = true;
    } else if (property == PROPERTY_ROWS) {
        test->sizes.N = test->sizes.N > 1 ? test->sizes.N : 2;
    } else if (property == PROPERTY_SMALL) {
        test->small = true;
    } else if (property == PROPERTY_ODD) {
        make_odd(op, &test->sizes);
    } else if (property == PROPERTY_ALL_MOVED || property < PROPERTY_SHARED) {
        test->offset = 1;
        test->moved = property == PROPERTY_ALL_MOVED ? 0 : 1 + property - PROPERTY_MOVED;
    } else if (shared_pair(op, property - PROPERTY_SHARED, &output, &tensor)) {
        test->output = output;
        test->in_place = 1 + tensor;
    }
}

bool property_without(const struct op *op, struct test_case *test, int number) {
    switch (number) {
        case 0: test->sizes.upper = test->sizes.lengths = 0; /* fall through */
        case 1: test->values = VALUES_NORMAL; return true;
        case 2:
            for (int i = 0; i < op_scalar_count(op); i++) {
                const struct op_scalar *scalar = op_scalar_at(op, i);
                if (scalar->is_float) { op_sizes_set(op, &test->sizes, scalar->name, scalar->usual); }
            }
            return true;
        case 3: test->offset = test->moved = 0; return true;
        case 4: test->in_place = test->output = 0; return true;
        case 5: test->rehearsed = false; return true;
        case 6: test->small = false; return true;
        case 7: test->sizes.lengths = inputs_need_lengths(test->values); return true;
        case 8: test->sizes.upper = 0; return true;
        default: return false;
    }
}

const char *property_name(const struct op *op, int property, char *text, size_t size) {
    static const char *const names[] = {[PROPERTY_OTHER_SCALARS] = "other scalars",
                                        [PROPERTY_INEXACT_SCALARS] = "inexact scalars",
                                        [PROPERTY_LENGTHS] = "lengths",
                                        [PROPERTY_NO_LENGTHS] = "no lengths",
                                        [PROPERTY_UPPER] = "CAUSAL_UPPER_KEEP",
                                        [PROPERTY_LOWER] = "CAUSAL_UPPER_ZERO",
                                        [PROPERTY_REORDERED] = "blocks in another order",
                                        [PROPERTY_REHEARSED] = "a call before it",
                                        [PROPERTY_REFUSED] = "a failing launch",
                                        [PROPERTY_ROWS] = "more than one row",
                                        [PROPERTY_SMALL] = "a small device",
                                        [PROPERTY_ODD] = "an odd number of elements",
                                        [PROPERTY_ALL_MOVED] = "all pointers misaligned"};
    int output, tensor;
    if (property < PROPERTY_OTHER_SCALARS) {
        snprintf(text, size, "values %s", inputs_word((enum input_values)(property - PROPERTY_VALUES)));
    } else if (property < PROPERTY_MOVED) {
        snprintf(text, size, "%s", names[property]);
    } else if (property < PROPERTY_SHARED) {
        snprintf(text, size, "%s misaligned", op->tensor[property - PROPERTY_MOVED].name);
    } else if (shared_pair(op, property - PROPERTY_SHARED, &output, &tensor)) {
        snprintf(text, size, "%s = %s", op->tensor[output].name, op->tensor[tensor].name);
    } else {
        snprintf(text, size, "?");
    }
    return text;
}

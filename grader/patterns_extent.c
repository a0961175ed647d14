/* patterns_extent.c — signatures in what is left out: rows, columns, groups and blocks that no thread has written. */
#include "patterns.h"

enum { VECTOR = 4, LARGEST_BLOCK = 1024 };

/* Elements of 16 bytes. */
static int vector_elements(const struct evidence *evidence) {
    return evidence->type == TYPE_F32 ? VECTOR : 2 * VECTOR;
}

/* The op leaves this element alone: what a causal op does not write, with CAUSAL_UPPER_KEEP. */
static bool is_kept(const struct evidence_case *shown, long i) {
    return shown->expected[0][i] == (double)shown->given[0][i];
}

/* It should have been written and was not. */
static bool is_left(const struct evidence_case *shown, long i) {
    return evidence_untouched(shown, 0, (size_t)i) && !is_kept(shown, i);
}

/* First row (or column) from which on output 0 is untouched, while all before is written; -1 when that is not so. */
static long edge(const struct evidence_case *shown, bool by_column) {
    long N = shown->test.sizes.N, C = shown->test.sizes.C, first = by_column ? C : N;
    for (long i = 0; i < N * C; i++) {
        long at = by_column ? i % C : i / C;
        if (is_left(shown, i) && at < first) { first = at; }
    }
    for (long i = 0; i < N * C; i++) {
        long at = by_column ? i % C : i / C;
        if (at >= first && !evidence_untouched(shown, 0, (size_t)i)) { return -1; }
    }
    return first;
}

/* The same edge in every wrong case, and no right case beyond it. */
static long common_edge(const struct evidence *evidence, bool by_column) {
    long common = -1;
    if (!op_has_rows(evidence->op, 0)) { return -1; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        long here = edge(shown, by_column), extent = by_column ? shown->test.sizes.C : shown->test.sizes.N;
        if (here < 1 || here >= extent || (common >= 0 && here != common)) { return -1; }
        common = here;
    }
    return common;
}

bool pattern_columns_past_block(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return common_edge(evidence, true) > 0;
}

/* The first untouched element of output 0 in the order of memory, all before it written; -1 when that is not so. */
static long flat_edge(const struct evidence_case *shown, long count) {
    long first = 0;
    while (first < count && !is_left(shown, first)) { first++; }
    for (long i = first; i < count; i++) {
        if (!evidence_untouched(shown, 0, (size_t)i)) { return -1; }
    }
    return first;
}

/* Rows, or elements, from a fixed number on. */
bool pattern_rows_past_grid(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    long common = -1;
    if (common_edge(evidence, false) > 0) { return true; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        long count = (long)op_elements(evidence->op, 0, &shown->test.sizes), here = flat_edge(shown, count);
        if (here < 1 || here >= count || (common >= 0 && here != common)) { return false; }
        common = here;
    }
    return common > 0;
}

/* Nothing but row 0 is ever written. */
bool pattern_row_0_written(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return common_edge(evidence, false) == 1;
}

/* Everything from a multiple of the block on is untouched, the grid having been rounded down: `units` are elements or rows. */
static bool rounded_down(const struct evidence *evidence, long block, bool rows) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        long N = shown->test.sizes.N, C = shown->test.sizes.C, count = rows ? N : N * C;
        long first = count / block * block * (rows ? C : 1);
        if (first == N * C) { return false; }
        for (long k = 0; k < N * C; k++) {
            if (!is_kept(shown, k) && is_left(shown, k) != (k >= first)) { return false; }
        }
        found = found || first > 0;
    }
    return found;
}

/* A grid that is rounded down leaves out elements or rows; groups of two or four elements are a vector's tail. */
bool pattern_last_block_missing(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (long block = 2; block <= 4 * LARGEST_BLOCK; block *= 2) {
        if (block > vector_elements(evidence) && rounded_down(evidence, block, false)) { return true; }
        if (rounded_down(evidence, block, true)) { return true; }
    }
    return false;
}

/* ---- the same part of every row or of every matrix ---- */

typedef bool part(const struct op_sizes *sizes, long row, long column, long argument);

/* In every wrong case exactly that part of output 0 is untouched, and right cases have no such part. */
static bool left_out(const struct evidence *evidence, part *belongs, long argument) {
    bool found = false,
         elementwise = pattern_is_op(evidence, "residual_forward") || pattern_is_op(evidence, "bias_add");
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        const struct op_sizes *sizes = &shown->test.sizes;
        bool wrong = pattern_case_is_wrong(shown);
        long parts = 0;
        if (shown->test.refused || (!wrong && shown->failure.kind != FAILURE_NONE)) { continue; }
        for (long k = 0; k < (long)sizes->N * sizes->C; k++) {
            bool here = belongs(sizes, k / sizes->C, k % sizes->C, argument);
            if (is_kept(shown, k)) { continue; }
            if (here != (wrong && is_left(shown, k))) { return false; }
            parts += here;
        }
        if (elementwise && shown->wrong[0] != parts) { return false; } /* what is written is right */
        found = found || wrong;
    }
    return found;
}

static bool past_whole_groups(const struct op_sizes *sizes, long row, long column, long group) {
    (void)row;
    return column >= sizes->C / group * group;
}

static bool past_whole_vectors(const struct op_sizes *sizes, long row, long column, long group) {
    long count = (long)sizes->N * sizes->C;
    return row * sizes->C + column >= count / group * group;
}

static bool last_column(const struct op_sizes *sizes, long row, long column, long argument) {
    (void)row, (void)argument;
    return column == sizes->C - 1;
}

static bool last_row(const struct op_sizes *sizes, long row, long column, long argument) {
    (void)column, (void)argument;
    return row == sizes->N - 1;
}

static bool first_column(const struct op_sizes *sizes, long row, long column, long argument) {
    (void)sizes, (void)row, (void)argument;
    return column == 0;
}

static bool first_row(const struct op_sizes *sizes, long row, long column, long argument) {
    (void)sizes, (void)column, (void)argument;
    return row == 0;
}

bool pattern_columns_rounded_down(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    for (long group = 2 * vector_elements(evidence); group <= LARGEST_BLOCK; group *= 2) {
        if (left_out(evidence, past_whole_groups, group)) { return true; }
    }
    return false;
}

bool pattern_vector_left_out(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    for (long group = 2; group <= vector_elements(evidence); group *= 2) {
        if (left_out(evidence, past_whole_groups, group) || left_out(evidence, past_whole_vectors, group)) {
            return true;
        }
    }
    return false;
}

bool pattern_end_left_out(const struct signature *signature, const struct evidence *evidence) {
    return left_out(evidence, signature->argument ? last_row : last_column, 0);
}

bool pattern_start_left_out(const struct signature *signature, const struct evidence *evidence) {
    return left_out(evidence, signature->argument ? first_row : first_column, 0);
}

/* Wrong for most shapes whose columns are no multiple of a vector (argument 0), or of a warp, and for no other. */
bool pattern_tail(const struct signature *signature, const struct evidence *evidence) {
    int tails = 0, right_tails = 0, wholes = 0,
        group = signature->argument ? signature->argument : vector_elements(evidence);
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool tail = shown->test.sizes.C % group != 0;
        if (shown->test.sizes.N == 0 || !shown->returned) { continue; }
        if (pattern_case_is_wrong(shown) && !tail) { return false; }
        tails += pattern_case_is_wrong(shown);
        right_tails += tail && !pattern_case_is_wrong(shown);
        wholes += !pattern_case_is_wrong(shown) && !tail;
    }
    return tails > 2 && wholes > 2 && right_tails <= tails;
}

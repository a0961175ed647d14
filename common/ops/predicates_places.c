/* predicates_places.c — predicates over the wrong elements (rows, columns, groups, blocks) and the wrong calls. */
#include <string.h>

#include "predicates.h"

enum { WARP = 32, VECTOR = 4, LARGEST_BLOCK = 1024 };

/* ---- outputs that are not written ---- */

static size_t untouched(const struct evidence *evidence, const struct evidence_case *shown, int tensor) {
    size_t count = 0;
    for (size_t i = 0, end = evidence_elements(evidence, shown, tensor); i < end; i++) {
        count += evidence_untouched(shown, tensor, i);
    }
    return count;
}

static bool all_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        if (shown->got[t] && untouched(evidence, shown, t) != evidence_elements(evidence, shown, t)) { return false; }
    }
    return true;
}

bool shows_untouched(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, all_untouched);
}

/* Output 0 is written completely, and another output not at all. */
static bool one_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    bool found = false;
    if (untouched(evidence, shown, 0) > 0 && shown->wrong[0]) { return false; }
    for (int t = 1; t < op_tensor_count(evidence->op); t++) {
        if (!shown->got[t] || !shown->wrong[t]) { continue; }
        if (untouched(evidence, shown, t) != evidence_elements(evidence, shown, t)) { return false; }
        found = true;
    }
    return found;
}

bool shows_one_output_untouched(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, one_untouched);
}

static bool some_wrong_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0, end = evidence_elements(evidence, shown, 0); i < end; i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && evidence_untouched(shown, 0, i)) { return true; }
    }
    return false;
}

/* Some elements are unwritten in every wrong case, but not all elements in every wrong case. */
bool shows_partly_untouched(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, some_wrong_untouched) && !evidence_all_wrong(evidence, all_untouched);
}

/* ---- rows, columns and shapes ---- */

/* The wrong elements of output 0 are the selected ones; a tenth of these may be right by chance. */
static bool wrong_where(const struct evidence *evidence, const struct evidence_case *shown,
                        bool (*selected)(long row, long column, long argument), long argument) {
    long C = shown->test.sizes.C;
    size_t chosen = 0, wrong = 0, count = evidence_elements(evidence, shown, 0);
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (size_t i = 0; i < count; i++) {
        bool here = selected((long)i / C, (long)i % C, argument), bad = evidence_is_wrong(evidence, shown, 0, i);
        if (bad && !here) { return false; }
        chosen += here;
        wrong += bad;
    }
    return chosen < count && wrong * 10 >= chosen * 9;
}

static bool past_row_0(long row, long column, long argument) {
    (void)column, (void)argument;
    return row > 0;
}

/* Output 0 has a wrong element in row 1, or the call has no row of several elements there. */
static bool row_1_wrong(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t C = (size_t)shown->test.sizes.C;
    if (C < 2 || shown->test.sizes.N < 2) { return true; }
    for (size_t c = 0; c < C; c++) {
        if (evidence_is_wrong(evidence, shown, 0, C + c)) { return true; }
    }
    return false;
}

static bool row_0_right(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 1; t < op_tensor_count(evidence->op); t++) {
        if (shown->wrong[t] && evidence_is_wrong(evidence, shown, t, 0)) { return false; }
    }
    /* if C is 1, LayerNorm's out is the bias, whichever row was read */
    return shown->wrong[0] == 0 || (wrong_where(evidence, shown, past_row_0, 0) && row_1_wrong(evidence, shown));
}

bool shows_only_row_0(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->wrong[0] > 0 && evidence_all_wrong(evidence, row_0_right);
}

static bool other_lane(long row, long column, long block) {
    (void)row;
    return column % block != 0;
}

static bool other_warp(long row, long column, long block) {
    (void)row;
    return column % block >= WARP;
}

static bool some_block(const struct evidence *evidence, bool (*selected)(long, long, long), long smallest) {
    for (long block = smallest; block <= LARGEST_BLOCK; block *= 2) {
        bool found = false, all = true;
        for (int i = 0; i < evidence->count && all; i++) {
            const struct evidence_case *shown = evidence->cases[i];
            if (!evidence_case_is_wrong(shown)) { continue; }
            all = wrong_where(evidence, shown, selected, block);
            found = true;
        }
        if (found && all) { return true; }
    }
    return false;
}

bool shows_only_lane_0(const struct evidence *evidence, int argument) {
    (void)argument;
    return some_block(evidence, other_lane, WARP);
}

bool shows_first_warp_right(const struct evidence *evidence, int argument) {
    (void)argument;
    return some_block(evidence, other_warp, 2 * WARP);
}

/* The number of elements in 16 bytes. */
static int vector_elements(const struct evidence *evidence) {
    return evidence->type == TYPE_F32 ? VECTOR : 2 * VECTOR;
}

/* The op does not write this element: above the diagonal, with CAUSAL_UPPER_KEEP. */
static bool is_kept(const struct evidence_case *shown, long i) {
    return shown->expected[0][i] == (double)shown->given[0][i];
}

/* The element must be written, and is not. */
static bool is_left(const struct evidence_case *shown, long i) {
    return evidence_untouched(shown, 0, (size_t)i) && !is_kept(shown, i);
}

/* The row (or column) from which output 0 is unwritten, if everything before it is written; else -1. */
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

/* The edge is the same in every wrong case, and no right case is larger. */
static long common_edge(const struct evidence *evidence, bool by_column) {
    long common = -1;
    if (!op_has_rows(evidence->op, 0)) { return -1; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown)) { continue; }
        long here = edge(shown, by_column), extent = by_column ? shown->test.sizes.C : shown->test.sizes.N;
        if (here < 1 || here >= extent || (common >= 0 && here != common)) { return -1; }
        common = here;
    }
    return common;
}

bool shows_columns_past_block(const struct evidence *evidence, int argument) {
    (void)argument;
    return common_edge(evidence, true) > 0;
}

/* The first unwritten element of output 0 in memory order, after which nothing is written; -1 if there is none. */
static long flat_edge(const struct evidence_case *shown, long count) {
    long first = 0;
    while (first < count && !is_left(shown, first)) { first++; }
    for (long i = first; i < count; i++) {
        if (!evidence_untouched(shown, 0, (size_t)i)) { return -1; }
    }
    return first;
}

/* Rows or elements past a fixed number are unwritten. */
bool shows_rows_past_grid(const struct evidence *evidence, int argument) {
    (void)argument;
    long common = -1;
    if (common_edge(evidence, false) > 0) { return true; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown)) { continue; }
        long count = (long)op_elements(evidence->op, 0, &shown->test.sizes), here = flat_edge(shown, count);
        if (here < 1 || here >= count || (common >= 0 && here != common)) { return false; }
        common = here;
    }
    return common > 0;
}

/* Only row 0 is written, in every wrong case. */
bool shows_row_0_written(const struct evidence *evidence, int argument) {
    (void)argument;
    return common_edge(evidence, false) == 1;
}

/* Everything past a multiple of the block is unwritten: the grid is rounded down. `units` are elements or rows. */
static bool rounded_down(const struct evidence *evidence, long block, bool rows) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown)) { continue; }
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

/* A grid that is rounded down skips elements or rows; a vector's tail is a group of two or four elements. */
bool shows_last_block_missing(const struct evidence *evidence, int argument) {
    (void)argument;
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (long block = 2; block <= 4 * LARGEST_BLOCK; block *= 2) {
        if (block > vector_elements(evidence) && rounded_down(evidence, block, false)) { return true; }
        if (rounded_down(evidence, block, true)) { return true; }
    }
    return false;
}

/* ---- the same part of every row or matrix ---- */

typedef bool part(const struct op_sizes *sizes, long row, long column, long argument);

/* In every wrong case exactly that part of output 0 is unwritten, and right cases have no such part. */
static bool left_out(const struct evidence *evidence, part *belongs, long argument) {
    bool found = false, elementwise = evidence->op->elementwise;
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        const struct op_sizes *sizes = &shown->test.sizes;
        bool wrong = evidence_case_is_wrong(shown);
        long parts = 0;
        if (shown->test.refused || (!wrong && shown->failure.kind != FAILURE_NONE)) { continue; }
        for (long k = 0; k < (long)sizes->N * sizes->C; k++) {
            bool here = belongs(sizes, k / sizes->C, k % sizes->C, argument);
            if (is_kept(shown, k)) { continue; }
            if (here != (wrong && is_left(shown, k))) { return false; }
            parts += here;
        }
        if (elementwise && shown->wrong[0] != parts) { return false; } /* the written elements are right */
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

bool shows_columns_rounded_down(const struct evidence *evidence, int argument) {
    (void)argument;
    for (long group = 2 * vector_elements(evidence); group <= LARGEST_BLOCK; group *= 2) {
        if (left_out(evidence, past_whole_groups, group)) { return true; }
    }
    return false;
}

bool shows_vector_left_out(const struct evidence *evidence, int argument) {
    (void)argument;
    for (long group = 2; group <= vector_elements(evidence); group *= 2) {
        if (left_out(evidence, past_whole_groups, group) || left_out(evidence, past_whole_vectors, group)) {
            return true;
        }
    }
    return false;
}

bool shows_end_left_out(const struct evidence *evidence, int argument) {
    return left_out(evidence, argument ? last_row : last_column, 0);
}

bool shows_start_left_out(const struct evidence *evidence, int argument) {
    return left_out(evidence, argument ? first_row : first_column, 0);
}

/* Most shapes whose columns are no multiple of a vector (argument 0) or of a warp are wrong, and no others. */
bool shows_tail(const struct evidence *evidence, int argument) {
    int tails = 0, right_tails = 0, wholes = 0, group = argument ? argument : vector_elements(evidence);
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool tail = shown->test.sizes.C % group != 0;
        if (shown->test.sizes.N == 0 || !shown->returned) { continue; }
        if (evidence_case_is_wrong(shown) && !tail) { return false; }
        tails += evidence_case_is_wrong(shown);
        right_tails += tail && !evidence_case_is_wrong(shown);
        wholes += !evidence_case_is_wrong(shown) && !tail;
    }
    return tails > 2 && wholes > 2 && right_tails <= tails;
}

/* The first call is right, and nearly all later ones are wrong, also at shapes that were right before. */
bool shows_state_kept(const struct evidence *evidence, int argument) {
    (void)argument;
    int wrong = 0, calls = 0;
    const struct evidence_case *first = evidence_failure(evidence);
    if (first && first->failure.kind == FAILURE_REPEAT && first->test.again) { return false; }
    if (evidence->count < 4 || evidence->cases[0]->failure.kind != FAILURE_NONE) { return false; }
    for (int i = 1; i < evidence->count; i++) {
        if (evidence->cases[i]->test.sizes.N == 0) { continue; }
        calls++;
        wrong += evidence_case_is_wrong(evidence->cases[i]);
    }
    return wrong * 10 >= calls * 9;
}

static bool is_in_place(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.in_place != 0;
}

bool shows_only_in_place(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, is_in_place);
}

static bool is_offset(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.offset != 0;
}

bool shows_only_offset(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, is_offset);
}

static bool is_repeated(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.again || shown->test.rehearsed;
}

bool shows_only_repeated(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, is_repeated);
}

static bool is_wrong_at_all(const struct evidence_case *shown) {
    return shown->failure.kind != FAILURE_NONE;
}

/* Every failed call, for whatever reason, has these values. */
bool shows_only_values(const struct evidence *evidence, int argument) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        if (!is_wrong_at_all(evidence->cases[i])) { continue; }
        if ((int)evidence->cases[i]->test.values != argument) { return false; }
        found = true;
    }
    return found;
}

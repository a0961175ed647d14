/* predicates.h — predicates over recorded calls, for the descriptions of mistakes: the general causes
 * (grader/mistakes.c) and those of one op (its reference.c). Each tests for one pattern; `argument` chooses within a
 * family.
 */
#ifndef PREDICATES_H
#define PREDICATES_H

#include "reference.h"

/* ---- predicates_reported.c: findings of the CPU backend, statuses, endings of the process ---- */
evidence_predicate shows_failure_kind; /* argument: enum failure_kind of the first failure */
evidence_predicate shows_refused;      /* a status that no fault of a running kernel has */
evidence_predicate shows_leftover;     /* "not started" is returned after a launch */
evidence_predicate shows_endless;      /* a call with few elements has no end; and did not end as `argument` says */
evidence_predicate shows_late_timeout; /* calls with fewer elements were right */
/* Only a call with more elements than an int counts fails, in this way (argument: enum failure_kind). */
evidence_predicate shows_huge;
evidence_predicate shows_finding; /* argument: enum simt_finding_kind of the first failure */
evidence_predicate shows_ending;  /* argument: enum child_status with which the first failure's process ended */
evidence_predicate shows_past_small_tensor, shows_small_tensor, shows_out_of_bounds_by_one, shows_out_of_bounds_tail,
    shows_output_read;
evidence_predicate shows_zero_grid, shows_grid_rounds_to_zero, shows_grid_too_tall, shows_block_too_large;
evidence_predicate shows_freed, shows_copy_not_awaited, shows_race_with_host;
evidence_predicate shows_shared_out_of_bounds, shows_own_memory, shows_race_in_place, shows_global_race;
evidence_predicate shows_float4_of_halves;

/* ---- predicates_places.c: which elements are wrong, and in which calls ---- */
evidence_predicate shows_untouched, shows_one_output_untouched, shows_partly_untouched;
evidence_predicate shows_only_row_0, shows_only_lane_0, shows_first_warp_right;
evidence_predicate shows_columns_past_block, shows_rows_past_grid, shows_row_0_written, shows_last_block_missing;
evidence_predicate shows_columns_rounded_down, shows_vector_left_out;
evidence_predicate shows_tail;                               /* argument: 0 a vector, or the columns of a warp */
evidence_predicate shows_end_left_out, shows_start_left_out; /* argument: 0 a column of every row, 1 a row */
evidence_predicate shows_state_kept, shows_only_in_place, shows_only_offset, shows_only_repeated;
evidence_predicate shows_only_values; /* argument: the enum input_values of every failed call */

/* ---- predicates_values.c: the values of the wrong elements ---- */
evidence_predicate shows_shifted, shows_transposed, shows_halved_or_doubled, shows_scaled, shows_accumulated;
evidence_predicate shows_nan_in_other_rows, shows_nan_hidden, shows_cut_off, shows_low_precision;

/* ---- helpers for an op's own predicates ---- */

/* Is the first failure a finding of that kind whose text contains `words`? */
bool evidence_finding_says(const struct evidence *evidence, int kind, const char *words);

/* Every wrong element of output 0 should be NaN but is not, and is in a row with a special value. */
evidence_property evidence_nan_missing;

/* Every wrong call has output `wrong` wrong in some, and output `right` right in all of them. */
bool evidence_only_wrong(const struct evidence *evidence, const char *wrong, const char *right);

/* ---- helpers for invariants ---- */

/* Do the first `count` elements of row n of output 0 sum to 1? True for rows that should be NaN, and for count 0. */
bool invariant_sum_is_one(const struct op *op, const struct evidence_case *shown, long n, long count,
                          struct failure *broken);

/* Compares one row's value with `expected`. If it differs, `broken` describes it, with the name `what`. */
bool invariant_row(struct failure *broken, long row, double expected, double got, double tolerance, const char *what);

/* The sum of the tolerances of the elements i .. i + count - 1 of output 0. */
double invariant_tolerance(const struct evidence_case *shown, size_t i, long count);

#endif

/* patterns.h — the questions that signatures ask of the evidence. Each is the `match` of one or more signatures. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "diagnose.h"

typedef bool pattern(const struct signature *signature, const struct evidence *evidence);

/* ---- patterns_report.c: what the backend, the launch and the process said ---- */
pattern pattern_failure_kind; /* argument: enum failure_kind of the first failure */
pattern pattern_finding;      /* argument: enum simt_finding_kind of the first failure */
pattern pattern_small_tensor, pattern_out_of_bounds_by_one, pattern_out_of_bounds_tail, pattern_output_read,
    pattern_backward_output_read;
pattern pattern_zero_grid, pattern_block_too_large;

/* ---- patterns_where.c: where the wrong elements are ---- */
pattern pattern_untouched, pattern_one_output_untouched, pattern_partly_untouched;
pattern pattern_columns_past_block, pattern_rows_past_grid, pattern_row_0_written, pattern_last_block_missing;
pattern pattern_only_row_0, pattern_only_lane_0, pattern_first_warp_right, pattern_vector_tail;

/* ---- patterns_when.c: which calls go wrong ---- */
pattern pattern_state_kept, pattern_only_in_place, pattern_only_offset, pattern_only_repeated;

/* ---- patterns_what.c: what the wrong elements hold ---- */
pattern pattern_mistake; /* agrees with a mistake of mistakes.c that has the signature's id */
pattern pattern_shifted, pattern_transposed, pattern_halved_or_doubled, pattern_scaled, pattern_accumulated;
pattern pattern_nan_in_other_rows, pattern_nan_hidden, pattern_inf_minus_inf, pattern_all_masked, pattern_one_pass;
pattern pattern_low_precision;

/* ---- shared by them ---- */
bool pattern_is_op(const struct evidence *evidence, const char *op);
bool pattern_is_wrong(const struct evidence_case *shown, int tensor, size_t i);
/* The call came back and some element is outside its tolerance. */
bool pattern_case_is_wrong(const struct evidence_case *shown);
/* True when there is a wrong case and the predicate holds for every wrong case. */
bool pattern_all_wrong(const struct evidence *evidence,
                       bool (*holds)(const struct evidence *, const struct evidence_case *));

#endif

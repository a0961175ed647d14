/* patterns.h — the questions that signatures ask of the evidence. Each is the `match` of one or more signatures. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "diagnose.h"

typedef bool pattern(const struct signature *signature, const struct evidence *evidence);

/* ---- patterns_report.c: what the backend, the launch and the process said ---- */
pattern pattern_failure_kind; /* argument: enum failure_kind of the first failure */
pattern pattern_late_timeout; /* calls with fewer elements were right */
pattern pattern_finding;      /* argument: enum simt_finding_kind of the first failure */
pattern pattern_small_tensor, pattern_out_of_bounds_by_one, pattern_out_of_bounds_tail, pattern_output_read,
    pattern_backward_output_read;
pattern pattern_zero_grid, pattern_grid_rounds_to_zero, pattern_grid_too_tall, pattern_block_too_large;
pattern pattern_ending; /* argument: enum child_status with which the process of the first failure ended */
pattern pattern_shared_out_of_bounds, pattern_own_memory, pattern_race_in_place, pattern_global_race;

/* ---- patterns_where.c: where the wrong elements are ---- */
pattern pattern_untouched, pattern_one_output_untouched, pattern_partly_untouched;
pattern pattern_only_row_0, pattern_only_lane_0, pattern_first_warp_right;

/* ---- patterns_extent.c: what is left out ---- */
pattern pattern_columns_past_block, pattern_rows_past_grid, pattern_row_0_written, pattern_last_block_missing;
pattern pattern_columns_rounded_down, pattern_vector_left_out;
pattern pattern_tail;                                 /* argument: 0 a vector, or the columns of a warp */
pattern pattern_end_left_out, pattern_start_left_out; /* argument: 0 a column of every row, 1 a row */

/* ---- patterns_when.c: which calls go wrong ---- */
pattern pattern_state_kept, pattern_only_in_place, pattern_only_offset, pattern_only_repeated;

/* ---- patterns_what.c: what the wrong elements hold ---- */
pattern pattern_mistake; /* agrees with a mistake of mistakes.c that has the signature's id */
pattern pattern_shifted, pattern_transposed, pattern_halved_or_doubled, pattern_scaled, pattern_accumulated;
pattern pattern_nan_in_other_rows, pattern_nan_hidden, pattern_one_pass, pattern_low_precision;

/* ---- patterns_softmax.c: what a wrong softmax holds ---- */
pattern pattern_inf_minus_inf, pattern_all_masked, pattern_not_the_maximum;
pattern pattern_row_factor; /* argument: 1 one factor for each row, 32 one for each lane */

/* ---- patterns_fused.c: causal matrices, lengths, 16-bit types ---- */
pattern pattern_upper_not_zeroed, pattern_upper_written, pattern_padding_not_zeroed, pattern_empty_row;
pattern pattern_only_values; /* argument: enum input_values */
pattern pattern_only_lengths, pattern_only_upper_kept;
pattern pattern_float4_of_halves, pattern_sum_untouched, pattern_lengths_index;

/* ---- patterns_outputs.c: which output, which rows, which rounding ---- */
pattern pattern_statistics; /* argument 1: not written */
pattern pattern_direction;  /* argument 0: only the parameters' gradients are wrong, 1: only dinp */
pattern pattern_flat_rows, pattern_cut_off, pattern_only_other_eps;

/* ---- patterns_wiring.c: models ---- */
pattern pattern_wired_tensor; /* argument: first letter of the first output that is wrong */
pattern pattern_gradient;     /* likewise: 'm' of dmlp_weight, '2' of dln2_bias */
pattern pattern_part_not_started, pattern_product_refused;
pattern pattern_wired_values; /* argument: enum input_values */
pattern pattern_wired_repeated, pattern_wired_first_sequence, pattern_wired_untouched, pattern_wired_steps,
    pattern_cache_overwritten;
pattern pattern_product_unwritten, pattern_wired_unwritten, pattern_sequence_index;

/* ---- shared by them ---- */
bool pattern_nan_missing(const struct evidence *evidence, const struct evidence_case *shown);
bool pattern_is_op(const struct evidence *evidence, const char *op);
/* The call came back and some element is outside its tolerance. */
bool pattern_case_is_wrong(const struct evidence_case *shown);
/* True when there is a wrong case and the predicate holds for every wrong case. */
bool pattern_all_wrong(const struct evidence *evidence,
                       bool (*holds)(const struct evidence *, const struct evidence_case *));

#endif

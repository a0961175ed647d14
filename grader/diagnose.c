/* diagnose.c — the general causes, which any op can have, and the order of diagnosis. */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "common/ops/predicates.h"

/* Reported by the process, the launch, the backend, or canaries. */
static const struct op_mistake reported[] = {
    {.id = "too-slow-or-endless",
     .cause = "smaller calls were right: one thread does the work of a whole row, or a loop does not end at this size",
     .hint = 2,
     .predicate = shows_late_timeout},
    {.id = "endless-loop",
     .cause = "the kernel or its launcher never ends: the variable of a loop does not reach its bound",
     .hint = 2,
     .kernel = "residual_forward/endless_loop",
     .predicate = shows_failure_kind,
     .argument = FAILURE_TIMEOUT},
    {.id = "exited",
     .cause = "the lab's code ended its process: a launcher returns, it does not call exit() or close descriptors",
     .hint = 2,
     .kernel = "residual_forward/constructor_exits",
     .predicate = shows_ending,
     .argument = CHILD_EXITED},
    {.id = "forged-answer",
     .cause = "the lab's code wrote to the grader's connection: write results to the output tensors",
     .hint = 2,
     .kernel = "residual_forward/forges_answer",
     .predicate = shows_ending,
     .argument = CHILD_FORGED},
    {.id = "forged-answer",
     .cause = "the lab's code wrote to the grader's connection: write results to the output tensors",
     .hint = 2,
     .kernel = "residual_forward/forges_answer",
     .predicate = shows_ending,
     .argument = CHILD_GARBAGE},
    {.id = "connection-closed",
     .cause = "the lab's code closed a descriptor that is not its own",
     .hint = 2,
     .kernel = "residual_forward/connection_closed",
     .predicate = shows_ending,
     .argument = CHILD_CLOSED},
    {.id = "too-much-memory",
     .cause = "the launcher allocates memory without end: compute the amount from N and C",
     .hint = 2,
     .predicate = shows_ending,
     .argument = CHILD_MEMORY},
    {.id = "too-much-output",
     .cause = "a kernel contains printf, and every thread of every call prints: remove it",
     .hint = 3,
     .kernel = "residual_forward/output",
     .predicate = shows_ending,
     .argument = CHILD_FLOODED},
    {.id = "crash",
     .cause = "the launcher itself (host code) crashed: it must not read or write the device pointers",
     .hint = 2,
     .kernel = "residual_forward/crash",
     .predicate = shows_failure_kind,
     .argument = FAILURE_CRASH},
    {.id = "launcher-missing",
     .cause = "the launcher's name, arguments or namespace are not the contract's: copy its declaration",
     .hint = 1,
     .kernel = "residual_forward/wrong_name",
     .predicate = shows_failure_kind,
     .argument = FAILURE_MISSING},
    {.id = "launch-error-not-returned",
     .cause = "the launcher does not check its launch: call CUDA_CHECK(cudaGetLastError()) right after it",
     .hint = 3,
     .kernel = "residual_forward/error_not_asked",
     .predicate = shows_failure_kind,
     .argument = FAILURE_SILENT},
    {.id = "computed-on-host",
     .cause = "the result is computed on the host: compute it in a kernel, from the tensors on the device",
     .hint = 1,
     .kernel = "residual_forward/copied_to_host",
     .predicate = shows_failure_kind,
     .argument = FAILURE_ON_HOST},
    {.id = "launch-zero-grid",
     .cause = "for N == 0 the grid has 0 blocks, which CUDA refuses: return cudaSuccess before the launch",
     .hint = 3,
     .kernel = "residual_forward/ignores_zero_rows",
     .predicate = shows_zero_grid},
    {.id = "grid-rounds-to-zero",
     .cause = "small sizes give a grid of 0 blocks, because the count is rounded down: use (count + block - 1) / block",
     .hint = 3,
     .kernel = "residual_forward/ceil_of_integers",
     .predicate = shows_grid_rounds_to_zero},
    {.id = "grid-too-tall",
     .cause = "a grid has at most 65535 blocks in y and in z: put the large count (rows, elements) in x",
     .hint = 3,
     .kernel = "residual_forward/rows_in_grid_y",
     .predicate = shows_grid_too_tall},
    {.id = "launch-block-too-large",
     .cause = "a block has at most 1024 threads: launch more blocks, or let each thread loop over the columns",
     .hint = 2,
     .kernel = "residual_forward/threads_and_blocks_swapped",
     .predicate = shows_block_too_large},
    {.id = "launch-error",
     .cause = "the launch was refused or failed: check grid, block and shared memory in the launcher",
     .hint = 2,
     .kernel = "softmax_forward/row_too_large_for_shared",
     .predicate = shows_failure_kind,
     .argument = FAILURE_STATUS},
    {.id = "stream-ignored",
     .cause =
         "work runs on another stream than the launcher's: pass stream as a launch's fourth argument, a copy's last",
     .hint = 3,
     .kernel = "causal_softmax_forward/memset_default_stream",
     .predicate = shows_finding,
     .argument = SIMT_STREAM},
    {.id = "shared-out-of-bounds",
     .cause = "an index is past the shared array's end: give it an entry per warp (or thread), and pass a dynamic "
              "one's bytes",
     .hint = 2,
     .kernel = "softmax_forward/dynamic_shared_missing",
     .predicate = shows_shared_out_of_bounds},
    {.id = "float4-of-halves",
     .cause = "16 bytes hold 8 elements of a 16-bit type, not 4: reading halves through float4 ends twice too far",
     .hint = 2,
     .kernel = "causal_softmax_forward/float4_of_halves",
     .predicate = shows_float4_of_halves},
    {.id = "workspace-too-small",
     .cause = "a buffer that the launcher allocates is too small for this call: compute its size from N and C",
     .hint = 2,
     .kernel = "softmax_forward/scratch_of_first_call",
     .predicate = shows_own_memory},
    {.id = "small-tensor-index",
     .cause = "a tensor with one entry per column (or per row) is indexed by element: use weight[c], mean[n]",
     .hint = 3,
     .kernel = "layernorm_forward/mean_by_element",
     .predicate = shows_small_tensor},
    {.id = "vector-tail-out-of-bounds",
     .cause = "the last vector of 16 bytes reaches past the end when the count is no multiple of its elements",
     .hint = 3,
     .kernel = "residual_forward/pairs_past_the_end",
     .predicate = shows_out_of_bounds_tail},
    {.id = "out-of-bounds-by-one",
     .cause = "a thread or loop goes one element past the end: guard with `if (i >= count) return;`, loop with `c < C`",
     .hint = 3,
     .kernel = "bias_add/guard_off_by_one",
     .predicate = shows_out_of_bounds_by_one},
    {.id = "out-of-bounds",
     .cause = "an index is outside its tensor: compare its computation with the shape in the contract",
     .hint = 2,
     .kernel = "softmax_forward/fixed_pitch",
     .predicate = shows_finding,
     .argument = SIMT_OUT_OF_BOUNDS},
    {.id = "misaligned-vector",
     .cause =
         "an access of 16 (or 8) bytes needs an address that is a multiple of it: the contract aligns to one element",
     .hint = 2,
     .kernel = "causal_softmax_forward/float4_by_columns",
     .predicate = shows_finding,
     .argument = SIMT_MISALIGNED},
    {.id = "output-accumulated",
     .cause = "the result is added to the output's old value: write with `=`",
     .hint = 3,
     .kernel = "residual_forward/accumulates",
     .predicate = shows_accumulated},
    {.id = "uninitialised-output-read",
     .cause =
         "an output (or cudaMalloc's memory) is read before it is written: `+=` for `=`, or wrong order of arguments",
     .hint = 3,
     .kernel = "layernorm_forward/sum_in_the_output",
     .predicate = shows_output_read},
    {.id = "uninitialised-read",
     .cause = "shared memory is read before it is written: some entries are never filled",
     .hint = 2,
     .kernel = "softmax_forward/uninitialised_shared",
     .predicate = shows_finding,
     .argument = SIMT_UNINITIALISED},
    {.id = "host-pointer",
     .cause = "a kernel uses a pointer to host memory",
     .hint = 2,
     .kernel = "residual_forward/arguments_on_the_host",
     .predicate = shows_finding,
     .argument = SIMT_HOST_POINTER},
    {.id = "device-pointer",
     .cause = "host code reads or writes device memory directly: only kernels and cudaMemcpy may",
     .hint = 2,
     .kernel = "residual_forward/catches_its_crash",
     .predicate = shows_finding,
     .argument = SIMT_DEVICE_POINTER},
    {.id = "in-place-hazard",
     .cause = "only the in-place call is wrong: an element is overwritten before another thread has read it",
     .hint = 2,
     .kernel = "causal_softmax_forward/dead_lanes_read",
     .predicate = shows_race_in_place},
    {.id = "race-in-global-memory",
     .cause =
         "two threads use the same element of a tensor: correct the index, or use atomicAdd for a sum of many threads",
     .hint = 2,
     .kernel = "layernorm_backward/no_atomics",
     .predicate = shows_global_race},
    {.id = "race",
     .cause =
         "two threads access the same word without synchronisation: a __syncthreads (in a warp, __syncwarp) is missing",
     .hint = 2,
     .kernel = "attention_forward/no_syncwarp",
     .predicate = shows_finding,
     .argument = SIMT_RACE},
    {.id = "barrier-divergent",
     .cause = "not all threads of the block reach the same __syncthreads: move it out of the branch or loop",
     .hint = 2,
     .kernel = "softmax_forward/barrier_in_branch",
     .predicate = shows_finding,
     .argument = SIMT_BARRIER_DIVERGENT},
    {.id = "deadlock",
     .cause = "threads wait at a barrier or shuffle that other threads never reach",
     .hint = 2,
     .kernel = "softmax_forward/deadlock",
     .predicate = shows_finding,
     .argument = SIMT_DEADLOCK},
    {.id = "absent-lane",
     .cause = "a shuffle reads from a lane that does not take part in it: check its mask and the loop around it",
     .hint = 2,
     .kernel = "softmax_forward/guard_by_thread",
     .predicate = shows_finding,
     .argument = SIMT_ABSENT_LANE},
    {.id = "stack-overflow",
     .cause = "the local arrays or the recursion of a thread exceed its stack",
     .hint = 2,
     .kernel = "residual_forward/device_recursion",
     .predicate = shows_finding,
     .argument = SIMT_STACK_OVERFLOW},
    {.id = "endless-loop",
     .cause = "the kernel or its launcher never ends: the variable of a loop does not reach its bound",
     .hint = 2,
     .kernel = "residual_forward/endless_loop",
     .predicate = shows_finding,
     .argument = SIMT_ENDLESS},
    {.id = "device-assert",
     .cause = "an assert in the kernel failed",
     .hint = 2,
     .kernel = "residual_forward/device_assert",
     .predicate = shows_finding,
     .argument = SIMT_ASSERT},
    {.id = "leak",
     .cause = "memory from cudaMalloc is never freed: every call of the launcher leaks it",
     .hint = 2,
     .kernel = "residual_forward/leaks",
     .predicate = shows_finding,
     .argument = SIMT_LEAK},
    {.id = "arithmetic",
     .cause = "the result of an operation is undefined in CUDA: a shift past the width, or a conversion that overflows",
     .hint = 2,
     .kernel = "residual_forward/shift",
     .predicate = shows_finding,
     .argument = SIMT_ARITHMETIC},
    {.id = "launch-error",
     .cause = "the launch was refused or failed: check grid, block and shared memory in the launcher",
     .hint = 2,
     .kernel = "softmax_forward/row_too_large_for_shared",
     .predicate = shows_finding,
     .argument = SIMT_LAUNCH},
    {.id = "input-modified",
     .cause = "an input was written: write results to the outputs only",
     .hint = 2,
     .kernel = "block_backward/writes_kept",
     .predicate = shows_failure_kind,
     .argument = FAILURE_MODIFIED},
    {.id = "buffer-overrun",
     .cause = "memory outside a tensor was written: a guard is missing, or it allows one index too many",
     .hint = 2,
     .predicate = shows_failure_kind,
     .argument = FAILURE_OVERRUN},
    {.id = "not-repeatable",
     .cause = "the order of operations differs from call to call: look for a race or float atomics",
     .hint = 2,
     .kernel = "residual_layernorm_backward/atomics",
     .predicate = shows_failure_kind,
     .argument = FAILURE_REPEAT},
    {.id = NULL},
};

/* Missing rows, columns and vectors, and calls that depend on earlier ones. */
static const struct op_mistake places[] = {
    {.id = "result-cached",
     .cause = "the result of an earlier call is returned: the pointers are the same, but the values differ",
     .hint = 2,
     .kernel = "residual_forward/result_cached",
     .predicate = shows_only_repeated},
    {.id = "last-row-missing",
     .cause = "the last row is never written: loop while n < N, or round the grid up",
     .hint = 3,
     .kernel = "residual_forward/last_row_missing",
     .predicate = shows_end_left_out,
     .argument = 1},
    {.id = "last-column-missing",
     .cause = "the last column is never written: loop while c < C",
     .hint = 3,
     .kernel = "softmax_forward/last_column_missing",
     .predicate = shows_end_left_out},
    {.id = "first-row-missing",
     .cause = "row 0 is never written: start the index at 0",
     .hint = 3,
     .kernel = "softmax_forward/first_row_missing",
     .predicate = shows_start_left_out,
     .argument = 1},
    {.id = "first-column-missing",
     .cause = "column 0 is never written: start the index at 0",
     .hint = 3,
     .kernel = "softmax_forward/columns_from_1",
     .predicate = shows_start_left_out},
    {.id = "vector-tail",
     .cause = "the last elements are wrong or not written when the count is no multiple of a 16-byte vector",
     .hint = 2,
     .kernel = "bias_add/last_group_dropped",
     .predicate = shows_vector_left_out},
    {.id = "columns-rounded-down",
     .cause =
         "the last columns are skipped when C is no multiple of 32 (or the block): loop while c < C, not C / 32 times",
     .hint = 3,
     .kernel = "softmax_forward/multiple_of_32",
     .predicate = shows_columns_rounded_down},
    {.id = "last-block-missing",
     .cause = "the grid is rounded down, so the last elements have no threads: use (count + block - 1) / block",
     .hint = 3,
     .kernel = "causal_softmax_forward/two_rows_a_warp",
     .predicate = shows_last_block_missing},
    {.id = "only-row-0",
     .cause = "only row 0 is right or written: the row's index is missing from the address (x + (size_t)n * C)",
     .hint = 3,
     .kernel = "layernorm_forward/row_not_used",
     .predicate = shows_row_0_written},
    {.id = "columns-past-block",
     .cause = "columns past a fixed number are not written: each thread must loop to C with c += blockDim.x",
     .hint = 2,
     .kernel = "residual_layernorm_forward/first_1024_columns",
     .predicate = shows_columns_past_block},
    {.id = "rows-past-grid",
     .cause = "rows past a fixed number are not written: let the grid grow with N, or loop over the rows",
     .hint = 2,
     .kernel = "residual_forward/fixed_grid",
     .predicate = shows_rows_past_grid},
    {.id = "state-kept-between-calls",
     .cause = "the first call is right, later ones are wrong: reset the __device__ variable in every call",
     .hint = 2,
     .kernel = "softmax_forward/state_kept",
     .predicate = shows_state_kept},
    {.id = "output-untouched",
     .cause = "no output was written: check that the kernel is launched, with a grid that is not empty",
     .hint = 1,
     .kernel = "softmax_forward/only_known_shapes",
     .predicate = shows_untouched},
    {.id = "stats-not-written",
     .cause = "out is written, but another output that the contract requires is not",
     .hint = 3,
     .kernel = "layernorm_forward/rstd_not_written",
     .predicate = shows_one_output_untouched},
    {.id = "nan-in-other-rows",
     .cause = "a NaN or infinity of one row reaches other rows: rows must be independent",
     .hint = 2,
     .kernel = "layernorm_forward/nan_leaks",
     .predicate = shows_nan_in_other_rows},
    {.id = NULL},
};

/* Only in-place, misaligned or special calls, or one thread's elements, are right or wrong. */
static const struct op_mistake special[] = {
    {.id = "in-place-hazard",
     .cause = "only the in-place call is wrong: an element is overwritten before another thread has read it",
     .hint = 2,
     .kernel = "causal_softmax_forward/dead_lanes_read",
     .predicate = shows_only_in_place},
    {.id = "offset-hazard",
     .cause = "only tensors that are not 16-byte aligned give wrong results: test the address before float4",
     .hint = 2,
     .kernel = "softmax_forward/unaligned_path",
     .predicate = shows_only_offset},
    {.id = "nan-hidden",
     .cause = "a NaN or infinity of the input does not reach its row's result: fmaxf and comparisons drop NaN",
     .hint = 2,
     .kernel = "causal_softmax_forward/inf_hidden",
     .predicate = shows_nan_hidden},
    {.id = "only-row-0",
     .cause = "only row 0 is right or written: the row's index is missing from the address (x + (size_t)n * C)",
     .hint = 3,
     .kernel = "layernorm_forward/row_not_used",
     .predicate = shows_only_row_0},
    {.id = "only-lane-0",
     .cause = "only the thread that holds the reduced value is right: broadcast the result to every thread",
     .hint = 2,
     .kernel = "softmax_forward/lane_0_only",
     .predicate = shows_only_lane_0},
    {.id = "other-warps-lost",
     .cause = "each warp reduces its own columns, and the warps' results are not combined",
     .hint = 2,
     .kernel = "softmax_forward/other_warps_lost",
     .predicate = shows_first_warp_right},
    {.id = NULL},
};

/* Shifted, transposed, wrong at tails, partly written, or scaled. */
static const struct op_mistake suspected[] = {
    {.id = "shifted-by-one",
     .cause = "every result is one element off: an index starts at 1, or is the next thread's",
     .hint = 3,
     .kernel = "softmax_forward/shifted_by_one",
     .predicate = shows_shifted},
    {.id = "transposed-index",
     .cause = "rows and columns are exchanged in an index: element (n, c) is at n * C + c",
     .hint = 3,
     .kernel = "residual_forward/index_transposed",
     .predicate = shows_transposed},
    {.id = "vector-tail",
     .cause = "the last elements are wrong or not written when the count is no multiple of a 16-byte vector",
     .hint = 2,
     .kernel = "bias_add/last_group_dropped",
     .predicate = shows_tail},
    {.id = "warp-tail",
     .cause = "only sizes where C is no multiple of 32 are wrong: the last lanes have fewer elements, or none",
     .hint = 2,
     .kernel = "residual_layernorm_forward/welford_equal_counts",
     .predicate = shows_tail,
     .argument = 32},
    {.id = "output-partly-untouched",
     .cause = "some elements are never written: check that each has a thread",
     .hint = 2,
     .kernel = "decode_attention/wide_heads",
     .predicate = shows_partly_untouched},
    {.id = "scaled-by-constant",
     .cause = "all results are off by one common factor: a term is counted twice, or a factor is missing",
     .hint = 2,
     .kernel = "softmax_forward/scaled_by_constant",
     .predicate = shows_scaled},
    {.id = NULL},
};

/* Nearly right. */
static const struct op_mistake precision[] = {
    {.id = "rounded-towards-zero",
     .cause = "results are truncated, not rounded: __float2half_rn and __float2bfloat16_rn round to nearest",
     .hint = 3,
     .kernel = "causal_softmax_forward/cut_off",
     .predicate = shows_cut_off},
    {.id = "low-precision",
     .cause =
         "results are close, but not to float32's precision: keep sums and intermediates in float, not half or bf16",
     .hint = 2,
     .kernel = "attention_forward/query_in_bf16",
     .predicate = shows_low_precision},
    {.id = NULL},
};

/* Right, but slow: score.c names these. */
static const struct op_mistake slow[] = {
    {.id = "too-few-warps",
     .cause = "there are too few warps to keep a GPU busy: give every row (or element) a thread or a warp of its own",
     .hint = 1,
     .kernel = "softmax_forward/one_thread"},
    {.id = "long-chain",
     .cause = "one warp makes far more dependent requests than needed: distribute the work over more warps",
     .hint = 2,
     .kernel = "residual_forward/long_chain"},
    {.id = "uncoalesced",
     .cause = "neighbouring threads access words far apart, so each 4-byte access moves a sector of 32 bytes",
     .hint = 1,
     .kernel = "residual_forward/uncoalesced"},
    {.id = "too-many-launches",
     .cause = "more kernels are launched than needed: fuse the residual add into the next LayerNorm, launch once for "
              "all heads",
     .hint = 1,
     .kernel = "block_forward/too_many_launches"},
    {.id = "split-sectors",
     .cause = "each byte is read once, but warps start within a sector, which two requests then read: start at "
              "multiples of 32 bytes",
     .hint = 2,
     .kernel = "residual_forward/split_sectors"},
    {.id = "too-much-traffic",
     .cause = "the rows are read or written more often than needed: keep the values in registers",
     .hint = 1,
     .kernel = "residual_forward/read_eight_times"},
    {.id = NULL},
};

/* ---- computed mistakes: do the outputs agree with those that the mistake produces? ---- */

enum { MISTAKE_CASES = 10, MISTAKE_ELEMENTS = 9000 };

static double distance(const struct op *op, const struct evidence_case *shown, double *const values[]) {
    double sum = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!shown->got[t]) { continue; }
        for (size_t i = 0, end = op_elements(op, t, &shown->test.sizes); i < end; i++) {
            double rounding = reference_tolerance(shown->condition[t][i]);
            if (isinf(rounding) || fabs(shown->got[t][i] - values[t][i]) <= rounding) { continue; }
            sum += evidence_difference(shown->got[t][i], values[t][i]);
        }
    }
    return sum;
}

/* ---- mistakes ---- */

/* The difference between the case's outputs and those that the mistake produces. */
static double distance_of(const struct op_mistake *mistake, int variant, const struct op *op,
                          const struct evidence_case *shown) {
    double *out[OP_MAX_TENSORS] = {0};
    for (int t = 0; t < op_tensor_count(op); t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (shown->got[t]) { out[t] = calloc(count + 1, sizeof(double)); }
        if (shown->got[t] && !out[t]) { abort(); }
    }
    struct op_call call = {
        .op = op, .sizes = &shown->test.sizes, .tensor = (const float *const *)shown->given, .expected = out};
    mistake->compute(&call, variant);
    for (int t = 0; t < op_tensor_count(op); t++) { /* rounded as a kernel stores it */
        enum op_type type = element_type(op, t, shown->test.sizes.type);
        for (size_t i = 0, end = op_elements(op, t, &shown->test.sizes); out[t] && i < end; i++) {
            out[t][i] = element_round(type, out[t][i]);
        }
    }
    double sum = distance(op, shown, out);
    for (int t = 0; t < op_tensor_count(op); t++) { free(out[t]); }
    return sum;
}

/* A wrong case agrees with the mistake's outputs. A right case does not contradict the mistake, if the mistake changes
 * next to nothing there. */
static bool agrees(const struct op_mistake *mistake, int variant, const struct op *op,
                   const struct evidence_case *shown) {
    double measure = evidence_case_is_wrong(shown) ? distance(op, shown, shown->expected)
                                                   : (double)op_elements(op, 0, &shown->test.sizes);
    return distance_of(mistake, variant, op, shown) <= 0.05 * measure;
}

static bool agrees_with_all(const struct op_mistake *mistake, int variant, const struct evidence *evidence,
                            bool wrong) {
    int looked = 0;
    for (int i = 0; i < evidence->count && (!wrong || looked < MISTAKE_CASES); i++) {
        const struct evidence_case *shown = evidence->cases[i];
        long count = (long)shown->test.sizes.N * shown->test.sizes.C;
        bool usable = wrong ? evidence_case_is_wrong(shown) : shown->returned && shown->failure.kind == FAILURE_NONE;
        if (!usable || shown->test.in_place || count > MISTAKE_ELEMENTS) { continue; }
        if (!agrees(mistake, variant, evidence->op, shown)) { return false; }
        looked++;
    }
    return looked > 0 || !wrong;
}

static bool is_computed(const struct op_mistake *mistake, const struct evidence *evidence) {
    for (int i = 0; i < OP_MAX_VARIANTS && mistake->variant[i]; i++) {
        int variant = mistake->variant[i];
        if (agrees_with_all(mistake, variant, evidence, true) && agrees_with_all(mistake, variant, evidence, false)) {
            return true;
        }
    }
    return false;
}

/* ---- order of diagnosis ---- */

static bool matches(const struct op_mistake *mistake, const struct evidence *evidence) {
    if (mistake->compute) { return is_computed(mistake, evidence); }
    return mistake->predicate && mistake->predicate(evidence, mistake->argument);
}

static const struct op_mistake *first_general(const struct op_mistake *list, const struct evidence *evidence) {
    while (list->id && !matches(list, evidence)) { list++; }
    return list->id ? list : NULL;
}

static enum op_mistake_stage stage_of(const struct op_mistake *mistake) {
    return mistake->stage ? mistake->stage : mistake->compute ? MISTAKE_COMPUTED : MISTAKE_SUSPECTED;
}

static const struct op_mistake *first_own(const struct op_reference *reference, enum op_mistake_stage stage,
                                          const struct evidence *evidence) {
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            if (stage_of(mistake) == stage && matches(mistake, evidence)) { return mistake; }
        }
    }
    return NULL;
}

/* The general causes that follow an op's own causes of that stage. */
static const struct op_mistake *const general[MISTAKE_STAGES] = {
    [MISTAKE_REPORTED] = reported, [MISTAKE_PLACED] = places,       [MISTAKE_COMPUTED] = NULL,
    [MISTAKE_SPECIAL] = special,   [MISTAKE_SUSPECTED] = suspected, [MISTAKE_VAGUE] = precision,
};

const struct op_mistake *diagnose(const struct evidence *evidence) {
    const struct op_reference *reference = reference_of(evidence->op);
    for (int stage = MISTAKE_REPORTED; stage < MISTAKE_STAGES; stage++) {
        const struct op_mistake *found = first_own(reference, (enum op_mistake_stage)stage, evidence);
        if (!found && general[stage]) { found = first_general(general[stage], evidence); }
        if (found) { return found; }
    }
    return NULL;
}

/* ---- all mistakes ---- */

/* List i: the general lists first, then those of each op; NULL after the last. */
static const struct op_mistake *list_at(int i) {
    static const struct op_mistake *const lists[] = {reported, places, special, suspected, precision, slow};
    const int general_lists = sizeof lists / sizeof *lists;
    if (i < general_lists) { return lists[i]; }
    i -= general_lists;
    for (int op = 0; ops[op]; op++) {
        const struct op_reference *reference = reference_of(ops[op]);
        for (int k = 0; k < OP_MAX_MISTAKE_LISTS && reference->mistakes[k]; k++) {
            if (i-- == 0) { return reference->mistakes[k]; }
        }
    }
    return NULL;
}

const struct op_mistake *diagnosis_next(struct diagnosis_place *place) {
    for (;;) {
        const struct op_mistake *list = list_at(place->list);
        if (!list) { return NULL; }
        if (list[place->entry].id) { return &list[place->entry++]; }
        place->list++;
        place->entry = 0;
    }
}

const struct op_mistake *diagnosis_find(const char *id) {
    struct diagnosis_place place = {0, 0};
    const struct op_mistake *mistake = diagnosis_next(&place);
    while (mistake && strcmp(mistake->id, id) != 0) { mistake = diagnosis_next(&place); }
    return mistake;
}

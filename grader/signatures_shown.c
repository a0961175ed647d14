/* signatures_shown.c — mistakes that show in what the outputs hold, and those of right but slow kernels. */
#include "patterns.h"

static bool pattern_never(const struct signature *signature, const struct evidence *evidence) {
    (void)signature, (void)evidence;
    return false;
}

const struct signature signatures_shown[] = {
    /* ---- where ---- */
    {"result-cached", "what an earlier call left is returned: the pointers are the same, the numbers are not", 2,
     pattern_only_repeated, 0},
    {"last-row-missing", "the last row is never written: loop while n < N, or round the grid up", 3,
     pattern_end_left_out, 1},
    {"last-column-missing", "the last column is never written: loop while c < C", 3, pattern_end_left_out, 0},
    {"first-row-missing", "row 0 is never written: indices begin at 0", 3, pattern_start_left_out, 1},
    {"first-column-missing", "column 0 is never written: indices begin at 0", 3, pattern_start_left_out, 0},
    {"vector-tail",
     "wrong only where C is no multiple of 16 bytes' elements: the end of a row is left out, misplaced or read past", 2,
     pattern_vector_tail, 0},
    {"causal-lengths", "only calls with lengths go wrong: lengths[b] is the batch's, b = row / (H * T)", 2,
     pattern_only_lengths, 0},
    {"causal-upper-kept", "only calls with CAUSAL_UPPER_KEEP go wrong", 2, pattern_only_upper_kept, 0},
    {"reduction-incomplete",
     "the lanes of a warp divide by different sums: an exchange is missing (16, 8, 4, 2, 1), or the result stays in "
     "one "
     "lane",
     2, pattern_row_factor, 32},
    {"output-partly-untouched", "some elements are never written: does every (row, column) belong to a thread?", 2,
     pattern_partly_untouched, 0},
    {"scaled-by-constant",
     "all results are off by one common factor: something is counted twice, or a factor is missing", 2, pattern_scaled,
     0},
    {"softmax-sum-wrong",
     "every row is right but for one factor: its sum is wrong (a column left out or taken twice, parts added without "
     "rescaling)",
     2, pattern_row_factor, 1},
    {"low-precision", "nearly right, but not to float32: sums and what is kept between must be float, not half or bf16",
     2, pattern_low_precision, 0},

    /* ---- right, but slow: score.c names these ---- */
    {"too-few-warps", "too few warps to keep a GPU busy: give every row (or element) a thread or a warp of its own", 1,
     pattern_never, 0},
    {"long-chain", "one warp makes far more requests, one after the other, than are needed: spread the work", 2,
     pattern_never, 0},
    {"uncoalesced", "neighbouring threads touch words far apart, and each 4-byte access moves a sector of 32 bytes", 1,
     pattern_never, 0},
    {"too-many-launches",
     "more kernels are launched than the wiring needs: fuse the residual add with the LayerNorm after it, one launch "
     "for all "
     "heads",
     1, pattern_never, 0},
    {"too-much-traffic", "the rows are read or written more often than needed: keep what you have in registers", 1,
     pattern_never, 0},
    {.id = NULL},
};

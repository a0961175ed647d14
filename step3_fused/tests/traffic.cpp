/* traffic.cpp — bytes against the floor, as the CPU backend counts them. */
#include <string.h>

#include "common/simt/simt.h"
#include "probe.h"

namespace {

enum { SECTOR_BYTES = 32 };

/* Kernels that move the floor, as the heads of the solution's files claim. warp: a warp has a row in registers, up to 4 KiB.
 * conflicts: column sums are combined in shared memory once a block, where bank conflicts are allowed. */
const struct taught {
    const char *op;
    int rung;
    bool warp, conflicts;
} at_the_floor[] = {
    {"softmax_forward", 3, true, false},
    {"softmax_forward", 4, false, false},
    {"softmax_backward", 3, true, false},
    {"softmax_backward", 4, false, false},
    {"causal_softmax_forward", 4, true, false},
    {"causal_softmax_backward", 3, true, false},
    {"layernorm_forward", 3, true, false},
    {"layernorm_forward", 4, false, false},
    {"layernorm_forward", 6, true, false},
    {"layernorm_backward", 2, true, false},
    {"layernorm_backward", 3, false, true},
    {"layernorm_backward", 4, false, false},
    {"residual_layernorm_forward", 4, true, false},
    {"residual_layernorm_forward", 5, false, false},
    {"residual_layernorm_backward", 3, false, true},
    {"residual_layernorm_backward", 4, false, false},
    {"layernorm_residual_forward", 3, true, false},
    {"layernorm_residual_forward", 4, false, false},
    {"layernorm_residual_backward", 2, false, true},
    {"layernorm_residual_backward", 3, false, false},
    {"bias_gelu_forward", 2, false, false},
    {"bias_gelu_forward", 3, false, false},
    {"bias_gelu_backward", 2, false, false},
    {"three_way_add", 3, false, false},
};

/* Sectors of the tensors with rows that were loaded and stored, as a multiple of those that the floor needs. */
double sectors_over_floor(const op *op, const reference_call &call, const op_sizes *sizes) {
    double moved = 0.0, needed = 0.0;
    for (int i = 0; i < op_tensor_count(op); i++) {
        struct simt_traffic traffic;
        if (!op_has_rows(op, i) || !simt_allocation_traffic(call.tensor(i), &traffic)) { continue; }
        moved += SECTOR_BYTES * (double)(traffic.load_sectors + traffic.store_sectors + traffic.atomic_sectors);
        needed += (double)op_needed_elements(op, i, sizes) * (double)op_element_bytes(op, i, sizes->type);
    }
    return moved / needed;
}

int moves_more(const op *op, const reference_case &asked, double limit, bool conflicts) {
    reference_call call(op, asked);
    if (call_is_wrong(call, op, asked)) { return 1; }
    struct simt_counters counters;
    simt_counters_get(&counters);
    double multiple = sectors_over_floor(op, call, &asked.sizes);
    if (!(multiple <= limit)) { return complain(op, asked, "%.3f times the floor in sectors", multiple); }
    if (counters.bank_conflicts && !conflicts) {
        return complain(op, asked, "%llu bank conflicts", (unsigned long long)counters.bank_conflicts);
    }
    return 0;
}

/* Rows that begin at multiples of 16 bytes: GPT-2's widths, and a power of two. `limit`: sectors over the floor. */
int wide_rows(const op *op, op_type type, int N, const taught &kernel, double limit) {
    int wrong = 0;
    for (int C : {768, 1024, 1600}) {
        reference_case asked;
        asked.sizes = reference_sizes(op, type, N, C);
        asked.rung = kernel.rung;
        if (kernel.warp && C * (type == TYPE_F32 ? 4 : 2) > 4096) { continue; }
        wrong += moves_more(op, asked, limit, kernel.conflicts);
    }
    return wrong;
}

int wide_matrix(const op *op, op_type type, int upper, int rung, double limit) {
    reference_case asked;
    asked.sizes = op_causal_sizes(type, 1, 1, 1024, 0.125f);
    asked.sizes.upper = upper;
    asked.rung = rung;
    return moves_more(op, asked, limit, false);
}

bool has_column_sums(const op *op) {
    return op_tensor_find(op, "dbias") >= 0;
}

} // namespace

/* The vec that the diagonal cuts is read element by element, up to 7 of them in 16 bits, with a request and a sector each.
 * That is 4 to 5.5 % of a matrix of 1024 columns; in fp32 less than 2 %. */
int taught_kernels_move_the_floor(const op *op, op_type type) {
    int wrong = 0;
    for (const taught &kernel : at_the_floor) {
        if (strcmp(kernel.op, op->name) != 0) { continue; }
        wrong += op_is_on_matrices(op) ? wide_matrix(op, type, 0, kernel.rung, type == TYPE_F32 ? 1.02 : 1.06)
                                  : wide_rows(op, type, 64, kernel, 1.02);
    }
    return wrong;
}

/* LayerNorm's backward pass reads up to 512 rows twice, the second time from L2, so this test has more rows. Combining the
 * column sums of 16-bit rows, eight to a lane, has bank conflicts; in fp32 it has none. */
int launcher_moves_the_floor(const op *op, op_type type) {
    if (op_is_on_matrices(op)) { return wide_matrix(op, type, 0, 0, 1.05) + wide_matrix(op, type, 1, 0, 1.05); }
    bool layernorm = strstr(op->name, "layernorm");
    return wide_rows(op, type, layernorm ? 520 : 64, {op->name, 0, false, has_column_sums(op)}, 1.05);
}

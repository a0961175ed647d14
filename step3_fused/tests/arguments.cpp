/* arguments.cpp — invalid arguments, each refused with nothing launched; and valid ones that are unusual. */
#include <cuda_runtime.h>

#include <limits.h>
#include <string.h>

#include "probe.h"

namespace {

enum { MOST = 1 << 30 }; /* rows, or columns */

/* Values that replace sizes; 0 leaves a size as it is. */
const struct {
    int N, C; /* or B and T */
    const char *why;
} bad_rows[] = {
    {-1, 0, "fewer than no rows"},     {INT_MIN, 0, "fewer than no rows"}, {0, INT_MIN, "fewer than no columns"},
    {0, -1, "fewer than no columns"},  {MOST + 1, 0, "too many rows"},     {0, MOST + 1, "too many columns"},
    {INT_MAX, 0, "too many rows"},     {0, INT_MAX, "too many columns"},   {INT_MAX, INT_MAX, "too large"},
    {MOST + 1, MOST + 1, "too large"},
};
const struct {
    int B, H, T, upper;
    const char *why;
} bad_matrices[] = {
    {-1, 2, 20, 0, "fewer than no batches"},
    {1, -2, 20, 0, "fewer than no heads"},
    {-1, -1, 20, 0, "fewer than no of both"},
    {1, 2, -1, 0, "fewer than no columns"},
    {1, 2, 0, 0, "no columns"},
    {0, 2, 0, 0, "no columns, no batches"},
    {1, 2, 20, 2, "no such form"},
    {1, 2, 20, -1, "no such form"},
    {65536, 65536, 1, 0, "too many matrices"},
    {INT_MAX, INT_MAX, INT_MAX, 0, "too large"},
    {1, 1, INT_MAX, 0, "too many columns"},
    {INT_MAX, 1, 1, 0, "too many rows"},
    {46341, 46341, 1, 0, "too many matrices"},
    {32768, 1, 65536, 0, "too many rows"},
};

struct attempt {
    const op *of;
    reference_case asked;
    void *memory, *tensors[OP_MAX_TENSORS];

    attempt(const op *op, op_type type, int rung) : of(op), memory(nullptr), tensors() {
        asked.sizes = reference_sizes(op, type, 3, 40);
        asked.rung = rung;
        cudaMalloc(&memory, 1 << 16);
        for (int i = 0; i < op_tensor_count(op); i++) { tensors[i] = memory; }
    }
    ~attempt() { cudaFree(memory); }

    int gives_other_than(cudaError_t wanted, const char *why) {
        uint64_t launches;
        int status = status_without_launch(of, asked, tensors, &launches);
        if (status != wanted) { return complain(of, asked, "%s: status %d, not %d", why, status, wanted); }
        return launches ? complain(of, asked, "%s: launched all the same", why) : 0;
    }
};

int bad_sizes_pass(const op *op, op_type type, int rung) {
    int wrong = 0;
    for (const auto &bad : bad_rows) {
        attempt attempt(op, type, rung);
        if (op_is_on_matrices(op)) { break; }
        if (bad.N) { attempt.asked.sizes.N = bad.N; }
        if (bad.C) { attempt.asked.sizes.C = bad.C; }
        wrong += attempt.gives_other_than(cudaErrorInvalidValue, bad.why);
    }
    for (const auto &bad : bad_matrices) {
        attempt attempt(op, type, rung);
        if (!op_is_on_matrices(op)) { break; }
        attempt.asked.sizes.B = bad.B, attempt.asked.sizes.H = bad.H, attempt.asked.sizes.T = bad.T;
        attempt.asked.sizes.upper = bad.upper;
        wrong += attempt.gives_other_than(cudaErrorInvalidValue, bad.why);
    }
    return wrong;
}

/* No columns is an error, whatever the number of rows. No rows is none, whatever the pointers. */
int empty_sizes_fail(const op *op, op_type type, int rung) {
    attempt no_columns(op, type, rung), nothing(op, type, rung), no_rows(op, type, rung);
    no_columns.asked.sizes.C = no_columns.asked.sizes.T = 0;
    nothing.asked.sizes.C = nothing.asked.sizes.T = nothing.asked.sizes.N = nothing.asked.sizes.B = 0;
    no_rows.asked.sizes.N = no_rows.asked.sizes.B = 0;
    memset(no_rows.tensors, 0, sizeof no_rows.tensors);
    return no_columns.gives_other_than(cudaErrorInvalidValue, "no columns") +
           nothing.gives_other_than(cudaErrorInvalidValue, "no rows and no columns") +
           no_rows.gives_other_than(cudaSuccess, "no rows, null pointers");
}

int null_pointers_pass(const op *op, op_type type, int rung) {
    int wrong = 0;
    for (int i = 0; i < op_tensor_count(op); i++) {
        attempt attempt(op, type, rung);
        if (strcmp(op->tensor[i].name, "lengths") == 0) { continue; } /* may be null */
        attempt.tensors[i] = nullptr;
        wrong += attempt.gives_other_than(cudaErrorInvalidValue, op->tensor[i].name);
    }
    return wrong;
}

/* Outputs that do not have the same bits as at aligned pointers. */
int results_differ(const op *op, const reference_case &asked, const reference_call &a, const reference_call &b) {
    bool exact = strcmp(op->name, "three_way_add") == 0 || strcmp(op->name, "bias_gelu_forward") == 0;
    for (int i = 0; i < op_tensor_count(op); i++) {
        bool same_bits = exact || strcmp(op->tensor[i].name, "sum") == 0;
        if (op->tensor[i].role == ROLE_IN || !same_bits) { continue; }
        if (memcmp(a.result(i).data(), b.result(i).data(), a.result(i).size() * sizeof(float)) != 0) {
            return complain(op, asked, "%s has not the bits that it has at aligned pointers", op->tensor[i].name);
        }
    }
    return 0;
}

int moved_pointers_fail(const op *op, op_type type, int rung, int columns) {
    reference_case asked;
    asked.sizes = reference_sizes(op, type, 2, columns);
    asked.rung = rung;
    reference_call aligned(op, asked);
    int wrong = call_is_wrong(aligned, op, asked);
    for (asked.offset = 1; asked.offset < 4 && !wrong; asked.offset += 2) {
        reference_call moved(op, asked);
        wrong = call_is_wrong(moved, op, asked) || results_differ(op, asked, aligned, moved);
    }
    return wrong;
}

int shared_pointers_fail(const op *op, op_type type, int rung, int columns) {
    int wrong = 0;
    for (int output = 0; output < op_tensor_count(op); output++) {
        for (int input = 0; input < op_tensor_count(op); input++) {
            if (!op_may_alias(op, output, input)) { continue; }
            reference_case asked;
            asked.sizes = reference_sizes(op, type, 2, columns);
            asked.rung = rung;
            asked.output = output, asked.in_place = 1 + input;
            reference_call call(op, asked);
            wrong += call_is_wrong(call, op, asked);
        }
    }
    return wrong;
}

} // namespace

int arguments_are_checked(const op *op, op_type type) {
    int wrong = 0;
    for (int rung = 0; has_rung(op, type, rung); rung++) {
        wrong += bad_sizes_pass(op, type, rung) + empty_sizes_fail(op, type, rung) + null_pointers_pass(op, type, rung);
        wrong += moved_pointers_fail(op, type, rung, 40) + shared_pointers_fail(op, type, rung, 40);
        wrong += shared_pointers_fail(op, type, rung, 45);
    }
    attempt past(op, type, 100);
    return wrong + past.gives_other_than(cudaErrorInvalidValue, "no such kernel");
}

/* lines.cpp — shapes that reach every line of every dispatch table, and the results there. */
#include <cuda_runtime.h>

#include <limits.h>
#include <string.h>

#include "common/simt/simt.h"
#include "probe.h"

namespace {

/* Rows of `vecs` times 16 bytes and `more` elements. A row with more is not aligned: it is read element by element. */
struct shape {
    int N, vecs, more;
    bool in_place; /* the first output is the gradient, or x */
};

const shape any_op[] = {{1, 0, 1, 0},    {3, 0, 33, 0}, {129, 0, 31, 0}, {5, 0, 1023, 0},
                        {2, 0, 1601, 0}, {5, 12, 0, 0}, {5, 96, 0, 1},   {3, 0, 129, 1}};

const shape softmax_rows[] = {
    {5, 32, 0, 0},    {3, 64, 0, 0},    {3, 112, 0, 0},    {3, 128, 0, 0},   {3, 256, 0, 0},   {2, 512, 0, 0},
    {2, 1024, 0, 0},  {2, 2048, 0, 0},  {2, 4096, 0, 0},   {2, 8192, 0, 0},  {2, 16384, 0, 0}, {2, 32768, 0, 0},
    {1, 65536, 0, 0}, {1, 65537, 0, 0}, {1, 131073, 0, 0}, // clusters; split; too long to be split
    {3, 0, 255, 0},   {3, 0, 1023, 0},  {2, 0, 8191, 0},   {2, 0, 32767, 0}, {2, 0, 40001, 0}, {1, 0, 524289, 0},
};

const shape layernorm_forward_rows[] = {
    {3, 90, 0, 0},    {3, 190, 0, 0},   {3, 300, 0, 0},   {3, 1024, 0, 0},  // one access a thread
    {17, 95, 0, 0},   {17, 190, 0, 0},                                      // two
    {540, 65, 0, 0},  {520, 161, 0, 0}, {265, 193, 0, 0}, {265, 257, 0, 0}, // pipelines, several rounds
    {265, 1, 0, 0},   {265, 33, 0, 0},  {265, 97, 0, 0},  {265, 129, 0, 0}, {265, 385, 0, 0}, // a warp, a block
    {265, 513, 0, 0}, {265, 769, 0, 0}, {2, 1025, 0, 0},  {2, 1537, 0, 0},  {2, 2049, 0, 0},
    {2, 3073, 0, 0},  {2, 4096, 0, 0},  {2, 4097, 0, 0},  {2, 0, 5001, 0},  {20001, 65, 0, 0}, // more than few_waves
};

/* dinp is dout, so that few rows use the table too. Groups with several rounds, and groups without a row. */
const shape layernorm_backward_rows[] = {
    {3, 90, 0, 0},   {3, 1024, 0, 0},  {3, 1025, 0, 0},   {513, 1, 0, 0},   {513, 33, 0, 0}, {280, 65, 0, 1},
    {200, 97, 0, 1}, {140, 129, 0, 1}, {270, 161, 0, 1},  {140, 193, 0, 1}, {70, 257, 0, 1}, {70, 385, 0, 1},
    {40, 513, 0, 1}, {35, 769, 0, 1},  {9, 1025, 0, 1},   {9, 1537, 0, 1},  {3, 2049, 0, 1}, {3, 3073, 0, 1},
    {3, 4097, 0, 1}, {40, 0, 5001, 0}, {20001, 65, 0, 0},
};

const shape matrices[] = {
    {1, 1, 0, 0},    {1, 32, 0, 0},   {1, 33, 0, 0},   {1, 65, 0, 0},    {1, 129, 0, 0},   {1, 257, 0, 0},
    {1, 513, 0, 0},  {1, 1025, 0, 0}, {1, 2049, 0, 0}, {1, 4097, 0, 0},  {1, 8193, 0, 0},  {2, 0, 255, 0},
    {1, 0, 1023, 0}, {1, 0, 1025, 0}, {1, 0, 8193, 0}, {1, 0, 16385, 0}, {1, 0, 32769, 0},
};

/* With and without keys that are masked by a length, besides the upper triangle. */
const shape kept_matrices[] = {{3, 8, 0, 1},  {1, 1, 0, 0},   {1, 31, 0, 1}, {1, 33, 0, 0},
                               {1, 65, 0, 1}, {1, 129, 0, 0}, {1, 257, 0, 1}};

/* Small calls are computed on every device in every type, larger ones and many short rows on one device in one type. For
 * all others only the choice of the line is tested, with launches refused: they would take a CPU too long. */
bool is_computed(const op_sizes *sizes) {
    enum { SMALL = 1 << 17, LARGEST = (1 << 20) + (1 << 15), MANY_ROWS = 20000, SHORT = 600 };
    static const struct {
        int capability;
        op_type type;
    } larger[] = {{80, TYPE_F16}, {90, TYPE_F32}, {100, TYPE_BF16}};
    struct simt_settings settings;
    simt_settings_get(&settings);
    size_t elements = (size_t)sizes->N * sizes->C;
    bool computed = elements <= SMALL;
    for (const auto &here : larger) {
        bool matches = here.capability == settings.compute_capability && here.type == sizes->type;
        computed = computed || (matches && elements <= LARGEST);
    }
    bool many_rows = sizes->N > MANY_ROWS && sizes->C <= SHORT;
    return computed || (many_rows && settings.compute_capability == 90 && sizes->type == TYPE_BF16);
}

/* The line is chosen and every launch is refused. The launcher must return that error. */
int choice_fails(const op *op, const reference_case &asked) {
    void *memory = nullptr, *tensors[OP_MAX_TENSORS] = {};
    uint64_t launches;
    cudaMalloc(&memory, 256);
    for (int i = 0; i < op_tensor_count(op); i++) {
        if (op_is_given(op, i, &asked.sizes)) { tensors[i] = memory; }
    }
    int status = status_without_launch(op, asked, tensors, &launches);
    cudaFree(memory);
    return status == cudaErrorLaunchOutOfResources ? 0
                                                   : complain(op, asked, "a refused launch gives status %d", status);
}

int shape_fails(const op *op, op_type type, const shape &shape, int upper, int lengths) {
    int width = 16 / (type == TYPE_F32 ? 4 : 2);
    reference_case asked;
    asked.sizes = reference_sizes(op, type, shape.N, shape.vecs * width + shape.more);
    if (op_is_on_matrices(op) && asked.sizes.C > 64) { asked.sizes = op_causal_sizes(type, 1, 1, asked.sizes.C, 0.125f); }
    asked.sizes.upper = upper;
    asked.sizes.lengths = lengths;
    for (int i = 0; shape.in_place && i < op_tensor_count(op); i++) {
        if (!asked.in_place && op_may_alias(op, 0, i)) { asked.in_place = 1 + i; }
    }
    if (!is_computed(&asked.sizes)) { return choice_fails(op, asked); }
    reference_call call(op, asked);
    return call_is_wrong(call, op, asked);
}

template <size_t count>
int shapes_fail(const op *op, op_type type, const shape (&shapes)[count], int upper = 0, int lengths = 0) {
    int wrong = 0;
    for (const shape &shape : shapes) { wrong += shape_fails(op, type, shape, upper, lengths); }
    return wrong;
}

} // namespace

int every_line_is_right(const op *op, op_type type) {
    if (op_is_on_matrices(op)) {
        return shapes_fail(op, type, matrices) + shapes_fail(op, type, kept_matrices, 1, 0) +
               shapes_fail(op, type, kept_matrices, 1, 1) + shape_fails(op, type, {3, 0, 33, 1}, 0, 1) +
               shape_fails(op, type, {1, 0, 127, 0}, 1, 0);
    }
    int wrong = shapes_fail(op, type, any_op);
    if (strstr(op->name, "softmax")) { wrong += shapes_fail(op, type, softmax_rows); }
    if (strstr(op->name, "layernorm")) {
        wrong += strstr(op->name, "forward") ? shapes_fail(op, type, layernorm_forward_rows)
                                             : shapes_fail(op, type, layernorm_backward_rows);
    }
    return wrong;
}

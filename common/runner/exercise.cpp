/* exercise.cpp — call every launcher that one lab file defines, every rung of its ladders, and compare with float64.
 *
 * A program without a parent, so that compute-sanitizer, a debugger or a profiler can watch it:
 *   compute-sanitizer --tool racecheck build/cuda/step2_warp_reduce/solution/softmax.exercise
 * One line for each launcher and rung: the largest error, how much of the tolerance it uses, and how many 16-bit results
 * are not the nearest. Exit 1 if a result is wrong or a call fails, 2 if the file defines no launcher.
 */
#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector>

#include "launchers.h"

extern "C" {
#include "../elements.h"
#include "../inputs.h"
#include "../reference.h"
}

namespace {

enum { seed = 1 };

/* Odd sizes among them: a single element, less than a warp, one past a block, GPT-2's widths, one row and many; of causal
 * ops both forms, with lengths and without. */
struct shape {
    int N, C; /* or B and T */
    int upper, lengths;
};
const shape row_shapes[] = {{1, 1, 0, 0},    {3, 33, 0, 0},   {129, 31, 0, 0}, {5, 1023, 0, 0},
                            {64, 768, 0, 0}, {2, 1600, 0, 0}, {0, 8, 0, 0}};
const shape causal_shapes[] = {{1, 1, 0, 0},  {3, 33, 0, 1},  {4, 31, 1, 0},   {2, 64, 0, 0},
                               {5, 96, 1, 1}, {3, 127, 0, 0}, {1, 1023, 0, 0}, {0, 8, 0, 0}};
const shape wiring_shapes[] = {{1, 1, 0, 0}, {2, 5, 0, 0}, {3, 20, 0, 0}};

struct tensors {
    std::vector<float> host[OP_MAX_TENSORS];
    std::vector<double> expected[OP_MAX_TENSORS], condition[OP_MAX_TENSORS];
    void *device[OP_MAX_TENSORS] = {};
};

struct worst {
    double error = 0, share = 0; /* |got - expected|, and the same over what is allowed */
    size_t wrong = 0, misrounded = 0, elements = 0;
};

op_sizes sizes_of(const op *op, op_type type, const shape &shape) {
    op_sizes sizes = op_causal_sizes(type, shape.N, 2, shape.C, 0.125f);
    sizes.upper = shape.upper;
    sizes.lengths = shape.lengths;
    if (op_is_causal(op)) { return sizes; }
    if (op_is_wiring(op)) {
        sizes = op_wiring_sizes(type, shape.N, shape.C, 2, 8, shape.C + 3);
        sizes.V = 17;
        sizes.L = 2;
        if (strcmp(op->name, "decode_attention") == 0) { sizes.N = sizes.B; }
        return sizes;
    }
    sizes = {};
    sizes.N = shape.N;
    sizes.C = shape.C;
    sizes.eps = 1e-5f;
    sizes.type = type;
    return sizes;
}

void fill(const op *op, const op_sizes *sizes, tensors *t) {
    float *host[OP_MAX_TENSORS];
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
    for (int i = 0; i < op->tensor_count; i++) {
        size_t count = op_elements(op, i, sizes);
        t->host[i].assign(count + 1, 0.0f); /* + 1: data() of an empty vector may be null */
        t->expected[i].assign(count + 1, 0.0);
        t->condition[i].assign(count + 1, 0.0);
        host[i] = t->host[i].data();
        expected[i] = t->expected[i].data();
        condition[i] = t->condition[i].data();
    }
    inputs_fill(op, sizes, VALUES_NORMAL, seed, host);
    reference_compute(op, sizes, host, expected, condition);
}

/* Outputs and room to work in: but caches, which are compared whole. */
bool is_left_out(const op *op, int i) {
    bool cache = op->tensor[i].shape == SHAPE_BHSD;
    return (op->tensor[i].role == ROLE_OUT || op->tensor[i].role == ROLE_WORK) && !cache;
}

/* Outputs are uploaded only where a causal op leaves some of them alone, so that what reads others is still found. */
cudaError_t upload(const op *op, const op_sizes *sizes, int i, tensors *t) {
    size_t count = op_elements(op, i, sizes), bytes = count * op_element_bytes(op, i, sizes->type);
    std::vector<char> packed(bytes + 1);
    if (!op_is_given(op, i, sizes)) { return cudaSuccess; }
    cudaError_t error = cudaMalloc(&t->device[i], bytes ? bytes : 1);
    if (error != cudaSuccess || bytes == 0 || (is_left_out(op, i) && !sizes->upper)) { return error; }
    elements_pack(op->tensor[i].element, sizes->type, t->host[i].data(), count, packed.data());
    return cudaMemcpy(t->device[i], packed.data(), bytes, cudaMemcpyHostToDevice);
}

cudaError_t download(const op *op, const op_sizes *sizes, int i, tensors *t) {
    size_t count = op_elements(op, i, sizes), bytes = count * op_element_bytes(op, i, sizes->type);
    std::vector<char> packed(bytes + 1);
    if (bytes == 0) { return cudaSuccess; }
    cudaError_t error = cudaMemcpy(packed.data(), t->device[i], bytes, cudaMemcpyDeviceToHost);
    elements_unpack(op->tensor[i].element, sizes->type, packed.data(), count, t->host[i].data());
    return error;
}

cudaError_t call(const op *op, const op_sizes *sizes, int rung, tensors *t, int *status) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < op->tensor_count && error == cudaSuccess; i++) { error = upload(op, sizes, i, t); }
    if (error == cudaSuccess) {
        *status = launcher_find(op->name, sizes->type, rung)(rung, t->device, sizes, nullptr);
        error = cudaDeviceSynchronize();
    }
    for (int i = 0; i < op->tensor_count; i++) {
        if (error == cudaSuccess && *status == 0) { error = download(op, sizes, i, t); }
        cudaFree(t->device[i]);
        t->device[i] = nullptr;
    }
    return error;
}

void compare(const op *op, const op_sizes *sizes, const tensors *t, worst *w) {
    for (int i = 0; i < op->tensor_count; i++) {
        if (!op_is_output(op, i)) { continue; }
        op_type type = element_type(op, i, sizes->type);
        size_t count = op_elements(op, i, sizes), misrounded = 0;
        for (size_t k = 0; k < count; k++) {
            double expected = t->expected[i][k], condition = t->condition[i][k], got = t->host[i][k];
            double error = fabs(got - expected), allowed = reference_allowance(type, expected, condition);
            if (!reference_accepts(type, expected, condition, t->host[i][k])) { w->wrong++; }
            misrounded += reference_misrounded(type, expected, condition, t->host[i][k]);
            if (!(error <= w->error)) { w->error = error; }
            if (allowed > 0 && !(error / allowed <= w->share)) { w->share = error / allowed; }
        }
        if ((long)misrounded > reference_misrounded_allowed(count)) { w->wrong += misrounded; }
        w->misrounded += misrounded;
        w->elements += count;
    }
}

/* 0 right, 1 wrong or failed, -1 no such rung. */
int exercise(const op *op, op_type type, int rung) {
    worst w;
    bool causal = op_is_causal(op);
    const shape *shapes = op_is_wiring(op) ? wiring_shapes : causal ? causal_shapes : row_shapes;
    size_t count = op_is_wiring(op) ? sizeof wiring_shapes / sizeof *shapes
                   : causal         ? sizeof causal_shapes / sizeof *shapes
                                    : sizeof row_shapes / sizeof *shapes;
    char name[64];
    op_launcher_name(op, type, name, sizeof name);
    for (size_t i = 0; i < count; i++) {
        op_sizes sizes = sizes_of(op, type, shapes[i]);
        tensors t;
        int status = 0;
        fill(op, &sizes, &t);
        cudaError_t error = call(op, &sizes, rung, &t, &status);
        if (status == cudaErrorInvalidValue && rung > 0) {
            cudaGetLastError();
            return -1;
        }
        if (error == cudaSuccess) { error = (cudaError_t)status; }
        if (error != cudaSuccess) {
            printf("%-32s rung %d  N %d, C %d: %s\n", name, rung, sizes.N, sizes.C, cudaGetErrorString(error));
            return 1;
        }
        compare(op, &sizes, &t, &w);
    }
    printf("%-32s rung %d  largest error %8.1e, %4.0f %% of the tolerance, %5.2f %% misrounded  %s\n", name, rung,
           w.error, 100 * w.share, 100.0 * (double)w.misrounded / (double)w.elements, w.wrong ? "WRONG" : "right");
    return w.wrong != 0;
}

} // namespace

int main() {
    int called = 0, failed = 0;
    for (const op *op = ops; op->name; op++) {
        for (int type = 0; type < OP_TYPES; type++) {
            if (!launcher_find(op->name, (op_type)type, 0)) { continue; }
            for (int rung = 0; rung == 0 || launcher_find(op->name, (op_type)type, rung); rung++) {
                int outcome = exercise(op, (op_type)type, rung);
                if (outcome < 0) { break; }
                called++;
                failed += outcome;
            }
        }
    }
    if (called == 0) { fprintf(stderr, "exercise: this file defines no launcher of any contract\n"); }
    return called == 0 ? 2 : failed != 0;
}

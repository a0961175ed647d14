/* exercise.cpp — call every launcher that one lab file defines, every rung of its ladders, and compare with float64.
 *
 * A program without a parent, so that compute-sanitizer, a debugger or a profiler can watch it:
 *   compute-sanitizer --tool racecheck build/cuda/step2_warp_reduce/solution/softmax.exercise
 * One line for each op and rung: the sizes, the largest error, and how much of the tolerance it uses. Exit 1 if a result
 * is wrong or a call fails, 2 if the file defines no launcher.
 */
#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <vector>

#include "launchers.h"

extern "C" {
#include "../inputs.h"
#include "../reference.h"
}

namespace {

enum { seed = 1 };

/* Odd sizes among them: a single element, less than a warp, one past a block, GPT-2's widths, one row and many. */
const op_sizes all_sizes[] = {{1, 1, 1e-5f},    {3, 33, 1e-5f},   {129, 31, 1e-5f}, {5, 1023, 1e-5f},
                              {64, 768, 1e-5f}, {2, 1600, 1e-5f}, {0, 8, 1e-5f}};

struct tensors {
    std::vector<float> host[OP_MAX_TENSORS];
    std::vector<double> expected[OP_MAX_TENSORS], condition[OP_MAX_TENSORS];
    float *device[OP_MAX_TENSORS] = {};
};

struct worst {
    double error = 0, share = 0; /* |got - expected|, and the same over the tolerance */
    size_t wrong = 0;
};

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

cudaError_t call(const op *op, const op_sizes *sizes, int rung, tensors *t, int *status) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < op->tensor_count && error == cudaSuccess; i++) {
        size_t bytes = op_elements(op, i, sizes) * sizeof(float);
        error = cudaMalloc((void **)&t->device[i], bytes ? bytes : sizeof(float));
        if (error == cudaSuccess && op->tensor[i].role != ROLE_OUT) {
            error = cudaMemcpy(t->device[i], t->host[i].data(), bytes, cudaMemcpyHostToDevice);
        }
    }
    if (error == cudaSuccess) {
        *status = launcher_find(op->name, rung)(rung, t->device, sizes, nullptr);
        error = cudaDeviceSynchronize();
    }
    for (int i = 0; i < op->tensor_count; i++) {
        size_t bytes = op_elements(op, i, sizes) * sizeof(float);
        if (error == cudaSuccess && *status == 0 && bytes) {
            error = cudaMemcpy(t->host[i].data(), t->device[i], bytes, cudaMemcpyDeviceToHost);
        }
        cudaFree(t->device[i]);
        t->device[i] = nullptr;
    }
    return error;
}

void compare(const op *op, const op_sizes *sizes, const tensors *t, worst *w) {
    for (int i = 0; i < op->tensor_count; i++) {
        if (op->tensor[i].role == ROLE_IN) { continue; }
        for (size_t k = 0; k < op_elements(op, i, sizes); k++) {
            double expected = t->expected[i][k], condition = t->condition[i][k], got = t->host[i][k];
            double error = fabs(got - expected), tolerance = reference_tolerance(condition);
            if (!reference_accepts(expected, condition, t->host[i][k])) { w->wrong++; }
            if (!(error <= w->error)) { w->error = error; }
            if (tolerance > 0 && !(error / tolerance <= w->share)) { w->share = error / tolerance; }
        }
    }
}

/* 0 right, 1 wrong or failed, -1 no such rung. */
int exercise(const op *op, int rung) {
    worst w;
    for (const op_sizes &sizes : all_sizes) {
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
            printf("%-20s rung %d  N %d, C %d: %s\n", op->name, rung, sizes.N, sizes.C, cudaGetErrorString(error));
            return 1;
        }
        compare(op, &sizes, &t, &w);
    }
    printf("%-20s rung %d  largest error %8.1e, %4.0f %% of the tolerance  %s\n", op->name, rung, w.error,
           100 * w.share, w.wrong ? "WRONG" : "right");
    return w.wrong != 0;
}

} // namespace

int main() {
    int called = 0, failed = 0;
    for (const op *op = ops; op->name; op++) {
        if (!launcher_find(op->name, 0)) { continue; }
        for (int rung = 0; rung == 0 || launcher_find(op->name, rung); rung++) {
            int outcome = exercise(op, rung);
            if (outcome < 0) { break; }
            called++;
            failed += outcome;
        }
    }
    if (called == 0) { fprintf(stderr, "exercise: this file defines no launcher of any contract\n"); }
    return called == 0 ? 2 : failed != 0;
}

/* exercise.cpp — call every launcher that one lab file defines, every rung of its ladders, and compare with float64.
 *
 * A program without a parent, so that compute-sanitizer, a debugger or a profiler can watch it:
 *   compute-sanitizer --tool racecheck build/cuda/step2_warp_reduce/solution/softmax.exercise [f32|f16|bf16]...
 * One line for each launcher and rung, of these types or all: the largest error, how much of the tolerance it uses, and
 * how many 16-bit results are not the nearest. Exit 1 if a result is wrong or a call fails, 2 if the file defines no
 * such launcher. initcheck does not see the writes of cuBLASLt's 16-bit kernels: for files with matrix products, give
 * it f32.
 */
#include <cuda_runtime.h>

#include <stdio.h>
#include <string.h>

#include "launchers.h"
#include "reference_call.h"

namespace {

/* Sizes: a single element, less than a warp, one more than a block, GPT-2's widths, the longest rows that a warp holds in
 * registers and their neighbours (1280 elements of 4 bytes, 2560 of 2), long rows, a single row, and more rows than a
 * dispatcher's threshold; for causal ops both forms, with and without lengths. */
struct shape {
    int N, C; /* or B and T */
    int upper, lengths;
};
const shape row_shapes[] = {{1, 1, 0, 0},     {3, 33, 0, 0},   {129, 31, 0, 0},   {5, 1023, 0, 0},  {64, 768, 0, 0},
                            {600, 768, 0, 0}, {2, 1600, 0, 0}, {530, 1600, 0, 0}, {3, 16384, 0, 0}, {0, 8, 0, 0},
                            {5, 1280, 0, 0},  {5, 2559, 0, 0}, {5, 2560, 0, 0},   {5, 2561, 0, 0}};
const shape causal_shapes[] = {{1, 1, 0, 0},   {3, 33, 0, 1},   {4, 31, 1, 0},   {2, 64, 0, 0}, {5, 96, 1, 1},
                               {3, 127, 0, 0}, {1, 1023, 0, 0}, {100, 64, 1, 0}, {0, 8, 0, 0}};
const shape model_shapes[] = {{1, 1, 0, 0}, {2, 5, 0, 0}, {3, 20, 0, 0}};

/* Calls directly or from a graph, in which memory is allocated differently. 0: right; 1: wrong or failed; -1: no such
 * rung. */
int exercise(const op *op, op_type type, int rung, bool graph) {
    reference_error worst;
    bool causal = op_is_on_matrices(op);
    const shape *shapes = op_is_on_sequences(op) ? model_shapes : causal ? causal_shapes : row_shapes;
    size_t count = op_is_on_sequences(op) ? sizeof model_shapes / sizeof *shapes
                   : causal               ? sizeof causal_shapes / sizeof *shapes
                                          : sizeof row_shapes / sizeof *shapes;
    char name[64];
    op_launcher_name(op, type, name, sizeof name);
    for (size_t i = 0; i < count; i++) {
        reference_case asked;
        asked.sizes = reference_sizes(op, type, shapes[i].N, shapes[i].C);
        if (!op_is_on_sequences(op)) { asked.sizes.upper = shapes[i].upper, asked.sizes.lengths = shapes[i].lengths; }
        asked.rung = rung;
        reference_call call(op, asked);
        int status = 0;
        cudaError_t error = call.upload();
        if (error == cudaSuccess) { error = graph ? call.launch_from_graph(&status) : call.launch(&status); }
        if (status == cudaErrorInvalidValue && rung > 0) {
            cudaGetLastError();
            return -1;
        }
        if (error == cudaSuccess) { error = (cudaError_t)status; }
        if (error == cudaSuccess) { error = call.download(); }
        if (error != cudaSuccess) {
            cudaGetLastError(); /* or the next launcher would find it */
            printf("%-32s rung %d%s  N %d, C %d: %s\n", name, rung, graph ? ", from a graph" : "", asked.sizes.N,
                   asked.sizes.C, cudaGetErrorString(error));
            return 1;
        }
        call.compare(&worst);
    }
    printf("%-32s rung %d%-14s  largest error %8.1e, %4.0f %% of the tolerance, %5.2f %% misrounded  %s\n", name, rung,
           graph ? ", from a graph" : "", worst.error, 100 * worst.share,
           100.0 * (double)worst.misrounded / (double)worst.elements, worst.wrong ? "WRONG" : "right");
    return worst.wrong != 0;
}

bool names(const char *name, op_type type) {
    return strcmp(op_type_name(type), name) == 0;
}

bool wanted(op_type type, int count, char **asked) {
    bool found = count == 0;
    for (int i = 0; i < count; i++) { found |= names(asked[i], type); }
    return found;
}

} // namespace

int main(int count, char **arguments) {
    int called = 0, failed = 0;
    for (int i = 1; i < count; i++) {
        if (names(arguments[i], TYPE_F32) || names(arguments[i], TYPE_F16) || names(arguments[i], TYPE_BF16)) {
            continue;
        }
        fprintf(stderr, "exercise: there is no type '%s': f32, f16 or bf16\n", arguments[i]);
        return 2;
    }
    for (int k = 0; ops[k]; k++) {
        const op *op = ops[k];
        for (int type = 0; type < OP_TYPES; type++) {
            if (!launcher_find(op->name, (op_type)type, 0) || !wanted((op_type)type, count - 1, arguments + 1)) {
                continue;
            }
            for (int rung = 0; rung == 0 || launcher_find(op->name, (op_type)type, rung); rung++) {
                int outcome = exercise(op, (op_type)type, rung, false);
                if (outcome < 0) { break; }
                // gpt2's tests capture the model parts.
                if (rung == 0 && !op_is_on_sequences(op)) { outcome |= exercise(op, (op_type)type, rung, true); }
                called++;
                failed += outcome;
            }
        }
    }
    if (called == 0) {
        fprintf(stderr, "exercise: this file defines no launcher of any contract in %s\n",
                count > 1 ? "these types" : "any type");
    }
    return called == 0 ? 2 : failed != 0;
}

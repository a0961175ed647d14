/* probe.cpp — tests one property of every launcher of a solution file. Exit 1 if one fails, 2 without a known property. */
#include "probe.h"

#include <cuda_runtime.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/simt/simt.h"

bool has_rung(const op *op, op_type type, int rung) {
    if (rung == 0) { return true; }
    if (!launcher_find(op->name, type, rung)) { return false; }
    reference_case asked;
    asked.sizes = reference_sizes(op, type, 1, 8);
    asked.rung = rung;
    reference_call call(op, asked);
    int status = 0;
    bool called = call.upload() == cudaSuccess && call.launch(&status) == cudaSuccess;
    return called && status == cudaSuccess;
}

int complain(const op *op, const reference_case &asked, const char *format, ...) {
    char launcher[64];
    const op_sizes &sizes = asked.sizes;
    op_launcher_name(op, sizes.type, launcher, sizeof launcher);
    printf("%s, kernel %d: ", launcher, asked.rung);
    if (op_is_on_matrices(op)) {
        printf("B = %d, H = %d, T = %d%s%s: ", sizes.B, sizes.H, sizes.T, sizes.upper ? ", upper kept" : "",
               sizes.lengths ? ", lengths" : "");
    } else {
        printf("N = %d, C = %d: ", sizes.N, sizes.C);
    }
    if (asked.offset) { printf("moved by %d elements: ", asked.offset); }
    if (asked.in_place) { printf("%s is %s: ", op->tensor[asked.output].name, op->tensor[asked.in_place - 1].name); }
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return 1;
}

int call_is_wrong(reference_call &call, const op *op, const reference_case &asked) {
    int status = 0;
    reference_error worst;
    cudaGetLastError(); // of an earlier call
    cudaError_t error = call.upload();
    simt_findings_clear();
    simt_counters_reset();
    if (error == cudaSuccess) { error = call.launch(&status); }
    if (simt_finding_count()) { return complain(op, asked, "%s", simt_finding_at(0)->text); }
    if (error == cudaSuccess) { error = (cudaError_t)status; }
    if (error != cudaSuccess) { return complain(op, asked, "%s", cudaGetErrorString(error)); }
    struct simt_counters counters; /* of the call alone, without the copies back */
    simt_counters_get(&counters);
    error = call.download();
    if (error != cudaSuccess) { return complain(op, asked, "%s", cudaGetErrorString(error)); }
    call.compare(&worst);
    return worst.wrong ? complain(op, asked, "%zu elements are wrong, by up to %.3g", worst.wrong, worst.error) : 0;
}

int status_without_launch(const op *op, const reference_case &asked, void *const tensors[], uint64_t *launches) {
    struct simt_watch refuse = {nullptr, false, false, true};
    struct simt_counters counters;
    simt_counters_reset();
    simt_watch_begin(&refuse);
    int status = launcher_find(op->name, asked.sizes.type, asked.rung)(asked.rung, tensors, &asked.sizes, nullptr);
    simt_watch_end();
    simt_counters_get(&counters);
    cudaGetLastError();
    *launches = counters.launches;
    return status;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*ask)(const op *op, op_type type);
    } questions[] = {
        {"taught", taught_kernels_move_the_floor},
        {"launcher", launcher_moves_the_floor},
        {"lines", every_line_is_right},
        {"digits", digits_are_kept},
        {"arguments", arguments_are_checked},
    };
    for (const auto &question : questions) {
        if (argc != 2 || strcmp(argv[1], question.name) != 0) { continue; }
        int asked = 0, wrong = 0;
        for (int k = 0; ops[k]; k++) {
            const op *op = ops[k];
            for (int type = 0; type < OP_TYPES; type++) {
                if (!launcher_find(op->name, (op_type)type, 0)) { continue; }
                asked++;
                wrong += question.ask(op, (op_type)type);
            }
        }
        printf("asked %d launchers\n", asked);
        return wrong > 0;
    }
    fprintf(stderr, "usage: NAME.probe taught|launcher|lines|digits|arguments\n");
    return 2;
}

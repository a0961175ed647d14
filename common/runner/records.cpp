/* records.cpp — one call of a launcher on the CPU backend, as records: its launches, and the bytes that each kernel moved of each
 * array. common/graph draws them; tools/plots/record stores them.
 *
 *   NAME.records [--rung K] [--requests] OP TYPE [SIZE=VALUE]...       softmax_forward f32 N=1024 C=768
 *
 * Lines of fields that are separated by tabs:
 *   call     OP TYPE RUNG SIZES OUTCOME   the outcome: right, wrong, not started, or the error in words
 *   finding  KIND FILE LINE               of the backend's checks: what it says of the kernels
 *   array    NAME BYTES                   a tensor of the contract; scratch1, ... are what the launcher allocated
 *   launch   K KERNEL GRID BLOCK WARPS    the K-th, from 1
 *   access   K NAME LOADED STORED ATOMIC LOAD-SECTORS STORE-SECTORS ATOMIC-SECTORS     bytes that the lanes requested, in launch K
 *   request  K KIND BYTES LINE NAME OFFSET...     with --requests, of the first warp: the lanes' offsets in the array, - if inactive
 * Exit status 0: the launcher was called; 2: the file defines no such launcher, or the command line is wrong; 3: no such rung.
 */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "common/simt/simt.h"
#include "launchers.h"
#include "recording.h"
#include "reference_call.h"

namespace {

void print_findings() {
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const simt_finding *finding = simt_finding_at(i);
        if (!finding->is_error) { continue; }
        printf("finding\t%.*s\t%s\t%d\n", (int)strcspn(finding->text, "\n\t"), finding->text, finding->file,
               finding->line);
    }
}

int usage() {
    fprintf(stderr, "usage: NAME.records [--rung K] [--requests] OP f32|f16|bf16 [SIZE=VALUE]...\n");
    return 2;
}

} // namespace

int main(int count, char **arguments) {
    reference_case asked;
    bool with_requests = false;
    int at = 1;
    for (; at < count && arguments[at][0] == '-'; at++) {
        if (strcmp(arguments[at], "--requests") == 0) {
            with_requests = true;
        } else if (strcmp(arguments[at], "--rung") == 0 && at + 1 < count) {
            asked.rung = atoi(arguments[++at]);
        } else {
            return usage();
        }
    }
    if (count - at < 2) { return usage(); }
    const op *op = op_find(arguments[at]);
    int type = 0;
    while (type < OP_TYPES && strcmp(op_type_name((op_type)type), arguments[at + 1]) != 0) { type++; }
    if (op == nullptr || type == OP_TYPES) { return usage(); }
    asked.sizes = reference_sizes(op, (op_type)type, 4, 64);
    std::string sizes;
    for (int i = at + 2; i < count; i++) {
        std::string name = arguments[i];
        size_t equals = name.find('=');
        if (equals == std::string::npos ||
            !op_sizes_set(op, &asked.sizes, name.substr(0, equals).c_str(), atof(name.c_str() + equals + 1))) {
            fprintf(stderr, "records: '%s' is no size of %s\n", arguments[i], op->name);
            return 2;
        }
        sizes += (i > at + 2 ? " " : "") + name;
    }
    op_sizes_complete(op, &asked.sizes);
    if (!launcher_find(op->name, (op_type)type, asked.rung)) {
        fprintf(stderr, "records: this file defines no launcher of %s_%s\n", op->name, arguments[at + 1]);
        return 2;
    }
    simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    if (with_requests) { settings.os_threads = 1; }
    simt_settings_set(&settings);

    reference_call call(op, asked);
    reference_error worst;
    recording records;
    int status = 0;
    cudaError_t error = call.upload();
    records.begin(with_requests);
    if (error == cudaSuccess) { error = call.launch(&status); }
    records.end();
    if (status == cudaErrorInvalidValue && asked.rung > 0) { return 3; }
    if (error == cudaSuccess) { error = (cudaError_t)status; }
    if (error == cudaSuccess) { error = call.download(); }
    if (error == cudaSuccess) { call.compare(&worst); }
    const char *outcome = error == cudaErrorNotSupported ? "not started"
                          : error != cudaSuccess         ? cudaGetErrorString(error)
                          : worst.wrong                  ? "wrong"
                                                         : "right";
    printf("call\t%s\t%s\t%d\t%s\t%s\n", op->name, arguments[at + 1], asked.rung, sizes.c_str(), outcome);
    print_findings();
    for (int i = 0; i < op_tensor_count(op); i++) {
        size_t bytes = op_elements(op, i, &asked.sizes) * op_element_bytes(op, i, asked.sizes.type);
        if (op_is_given(op, i, &asked.sizes)) { records.name(op->tensor[i].name, call.tensor(i), bytes); }
    }
    records.print();
    return 0;
}

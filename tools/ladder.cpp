// ladder.cpp — print the CPU backend's counts for each kernel of a ladder, as a Markdown table for the lab sheets.
//
//   ladder OP N C     linked with one solution file by tools/generated/ladder
//
// Of a causal op, C is T and N a multiple of it: matrices (N / T, 1, T, T). Requests and sectors are those of the tensors with
// rows, loads and stores together. The floor counts each needed element once.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/runner/launchers.h"
#include "common/simt/simt.h"

struct column {
    const char *title;
    int decimals;
    double value[16];
};

static column columns[] = {
    {"requests per row", 0, {}},
    {"sectors per row", 0, {}},
    {"requested bytes / floor", 2, {}},
    {"sector bytes / floor", 2, {}},
    {"warps", 0, {}},
    {"longest chain", 0, {}},
    {"barriers per row", 0, {}},
    {"shuffles per row", 0, {}},
    {"atomics per row", 0, {}},
};

// Fills one row of the table; false past the last rung.
static bool count_rung(const op *op, int rung, const op_sizes &sizes) {
    void *tensor[OP_MAX_TENSORS];
    for (int i = 0; i < op_tensor_count(op); i++) {
        tensor[i] = nullptr;
        if (!op_is_given(op, i, &sizes)) { continue; }
        size_t count = op_elements(op, i, &sizes);
        std::vector<float> values(count);
        for (size_t k = 0; k < count; k++) { values[k] = (float)(k * 37 % 101) / 101.0f; }
        if (cudaMalloc(&tensor[i], count * sizeof(float)) != cudaSuccess) { exit(2); }
        cudaMemcpy(tensor[i], values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    }
    simt_counters_reset();
    int status = launcher_find(op->name, TYPE_F32, rung)(rung, tensor, &sizes, nullptr);
    cudaError_t error = cudaDeviceSynchronize();
    if (status == cudaErrorInvalidValue) { return false; }
    if (status != cudaSuccess || error != cudaSuccess || simt_finding_count() > 0) {
        fprintf(stderr, "ladder: %s, kernel %d: %s\n", op->name, rung, cudaGetErrorString((cudaError_t)status));
        exit(2);
    }
    simt_counters counters;
    simt_counters_get(&counters);
    double requests = 0, sectors = 0, bytes = 0, floor = 0, rows = sizes.N;
    for (int i = 0; i < op_tensor_count(op); i++) {
        if (!tensor[i]) { continue; }
        simt_traffic traffic;
        simt_allocation_traffic(tensor[i], &traffic);
        cudaFree(tensor[i]);
        if (!op_has_rows(op, i)) { continue; }
        requests += (double)(traffic.load_requests + traffic.store_requests);
        sectors += (double)(traffic.load_sectors + traffic.store_sectors);
        bytes += (double)(traffic.load_bytes + traffic.store_bytes);
        floor += (double)op_needed_elements(op, i, &sizes) * sizeof(float);
    }
    double counted[] = {requests / rows,
                        sectors / rows,
                        bytes / floor,
                        32 * sectors / floor,
                        (double)counters.largest_grid_warps,
                        (double)counters.longest_chain,
                        (double)counters.barriers / rows,
                        (double)counters.shuffles / rows,
                        (double)counters.global.atomic_requests / rows};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) { columns[i].value[rung] = counted[i]; }
    return true;
}

// Columns that contain only zeros are left out.
static void print_table(int rungs) {
    for (int rung = -1; rung <= rungs; rung++) {
        if (rung < 1) {
            printf("%s", rung < 0 ? "| kernel |" : "|---|");
        } else {
            printf("| %d |", rung);
        }
        for (const column &c : columns) {
            bool used = false;
            for (double value : c.value) { used = used || value != 0; }
            if (!used) { continue; }
            if (rung < 0) {
                printf(" %s |", c.title);
            } else if (rung == 0) {
                printf("---|");
            } else {
                printf(" %.*f |", c.decimals, c.value[rung]);
            }
        }
        printf("\n");
    }
}

int main(int count, char **arguments) {
    const op *op = count == 4 ? op_find(arguments[1]) : nullptr;
    op_sizes sizes = {};
    sizes.N = count == 4 ? atoi(arguments[2]) : 0;
    sizes.C = count == 4 ? atoi(arguments[3]) : 0;
    sizes.eps = 1e-5f;
    bool causal = op && op_is_on_matrices(op), right = op && sizes.N > 0 && sizes.C > 0;
    if (right && causal) {
        right = sizes.N % sizes.C == 0;
        sizes = op_causal_sizes(TYPE_F32, sizes.N / sizes.C, 1, sizes.C, 0.125f);
    }
    if (!right || !launcher_find(op->name, TYPE_F32, 1)) {
        fprintf(stderr, "usage: ladder OP N C, linked with a file that exports OP's rungs\n");
        return 2;
    }
    int rungs = 0;
    while (rungs < 15 && count_rung(op, rungs + 1, sizes)) { rungs++; }
    print_table(rungs);
    return 0;
}

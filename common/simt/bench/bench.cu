// bench.cu — the backend's own speed, not a GPU's. Built checked and fast; prints one line per kernel:
//   name  accesses  seconds of CPU on one OS thread  seconds on one  seconds on two
// Accesses are counted by the checked build; the fast one prints 0. table.awk joins the two.
//   bench [part of a kernel's name [repeats]]: prints the best of `repeats` runs; use more on a busy machine
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "common/simt/simt.h"
#include "kernels.cuh"

namespace {

enum { N = 1024, C = 1024 };
float *in, *out;
const char *wanted = "";
int repeats = 30;

double seconds(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void set_threads(int count) {
    simt_settings settings;
    simt_settings_get(&settings);
    settings.os_threads = count;
    simt_settings_set(&settings);
}

template <class Launch> double best(clockid_t clock, Launch launch) {
    double least = 1e30;
    for (int i = 0; i < repeats; i++) {
        double start = seconds(clock);
        launch();
        cudaDeviceSynchronize();
        double took = seconds(clock) - start;
        least = took < least ? took : least;
    }
    return least;
}

template <class Launch> void measure(const char *name, Launch launch) {
    if (strstr(name, wanted) == nullptr) return;
    simt_counters c;
    set_threads(1);
    launch(); // once to touch all memory
    simt_counters_reset();
    launch();
    simt_counters_get(&c);
    const simt_traffic *traffic[] = {&c.global, &c.shared};
    double accesses = 0;
    for (const simt_traffic *t : traffic)
        accesses += (double)(t->load_bytes + t->store_bytes + t->atomic_bytes) / 4; // float4 counts as four
    double cpu = best(CLOCK_PROCESS_CPUTIME_ID, launch);
    double one = best(CLOCK_MONOTONIC, launch);
    set_threads(2);
    launch();
    double two = best(CLOCK_MONOTONIC, launch);
    printf("%s %.0f %.6f %.6f %.6f\n", name, accesses, cpu, one, two);
    fflush(stdout);
    if (simt_finding_count() || cudaGetLastError() != cudaSuccess) {
        fprintf(stderr, "%s: the checks reported a finding, so its time is meaningless\n", name);
        exit(1);
    }
}

} // namespace

int main(int count, char **argument) {
    if (count > 1) wanted = argument[1];
    if (count > 2) repeats = atoi(argument[2]);
    size_t bytes = sizeof(float) * N * C;
    float *host = (float *)malloc(bytes);
    for (int i = 0; i < N * C; i++) host[i] = (float)(i * 7919ll % 1000) / 500.f;
    if (cudaMalloc(&in, bytes) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess || host == nullptr) return 2;
    cudaMemcpy(in, host, bytes, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, bytes);
    free(host);

    measure("sum_thread_per_row", [] { sum_thread_per_row<<<N / 64, 64>>>(out, in, N, C); });
    measure("copy_thread_per_row", [] { copy_thread_per_row<<<N / 64, 64>>>(out, in, N, C); });
    measure("softmax_thread_per_row", [] { softmax_thread_per_row<<<N / 64, 64>>>(out, in, N, C); });
    // Not 64 blocks: a thread's elements would lie 64 KB apart, in one set of the CPU's L1 cache.
    measure("copy_coalesced", [] { copy_coalesced<<<65, 256>>>(out, in, N, C); });
    measure("copy_float4", [] { copy_float4<<<64, 256>>>(out, in, N, C); });
    measure("transpose_tiles", [] { transpose_tiles<<<dim3(C / 32, N / 32), dim3(32, 8)>>>(out, in, N, C); });
    measure("histogram", [] { histogram<<<16, 256>>>(out, in, N, C); });
    measure("matmul_tiles", [] { matmul_tiles<<<dim3(16, 16), dim3(TILE, TILE)>>>(out, in, N, 256); });
    measure("softmax_warp_per_row", [] { softmax_warp_per_row<<<N / 4, 128>>>(out, in, N, C); });
    measure("softmax_block_per_row", [] { softmax_block_per_row<<<N, 128>>>(out, in, N, C); });
    measure("softmax_block_of_1024", [] { softmax_block_per_row<<<N / 4, 1024>>>(out, in, N / 4, C); });
    return 0;
}

/* compare.c — see compare.h. */
#include "compare.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "program.h"
#include "simt.h"

typedef void (*kernel)(unsigned *out, const unsigned *in, unsigned *result);

enum { MAX_TABLES = 1024, RESULTS = 256 };
static struct {
    unsigned long long first;
    unsigned count;
    const kernel *run;
} tables[MAX_TABLES];
static unsigned table_count;

int random_register(unsigned long long first, unsigned count, const kernel *run);
int random_register(unsigned long long first, unsigned count, const kernel *run) {
    tables[table_count].first = first;
    tables[table_count].count = count;
    tables[table_count].run = run;
    return (int)++table_count;
}

static struct counts measured(kernel run, unsigned *out, const unsigned *in, unsigned *result) {
    unsigned host[RESULTS] = {0};
    struct simt_counters c;
    cudaMemcpy(result, host, sizeof host, cudaMemcpyHostToDevice);
    simt_findings_clear();
    simt_counters_reset();
    run(out, in, result);
    cudaDeviceSynchronize();
    simt_counters_get(&c);
    cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost);
    struct counts got = {
        c.global.load_requests,
        c.global.store_requests,
        c.global.load_sectors,
        c.global.store_sectors,
        c.global.load_bytes,
        c.global.store_bytes,
        c.shared.load_requests,
        c.shared.store_requests,
        c.bank_conflicts,
        c.global.atomic_requests,
        c.global.atomic_sectors,
        c.global.atomic_bytes,
        c.shared.atomic_requests,
        c.warp_syncs,
        c.shuffles,
        0,
    };
    for (unsigned i = 0; i < RESULTS; i++) got.result += host[i];
    return got;
}

static void describe(unsigned long long seed, const struct counts *want, const struct counts *got) {
    const struct {
        const char *name;
        uint64_t want, got;
    } row[] = {
        {"load requests", want->load_requests, got->load_requests},
        {"store requests", want->store_requests, got->store_requests},
        {"load sectors", want->load_sectors, got->load_sectors},
        {"store sectors", want->store_sectors, got->store_sectors},
        {"load bytes", want->load_bytes, got->load_bytes},
        {"store bytes", want->store_bytes, got->store_bytes},
        {"shared loads", want->shared_load_requests, got->shared_load_requests},
        {"shared stores", want->shared_store_requests, got->shared_store_requests},
        {"bank conflicts", want->bank_conflicts, got->bank_conflicts},
        {"atomic requests", want->atomic_requests, got->atomic_requests},
        {"atomic sectors", want->atomic_sectors, got->atomic_sectors},
        {"atomic bytes", want->atomic_bytes, got->atomic_bytes},
        {"shared atomics", want->shared_atomic_requests, got->shared_atomic_requests},
        {"syncs", want->syncs, got->syncs},
        {"shuffles", want->shuffles, got->shuffles},
        {"result", want->result, got->result},
    };
    fprintf(stderr, "kernel %llu:", seed);
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].want != row[i].got)
            fprintf(stderr, "  %s %llu, counted %llu", row[i].name, (unsigned long long)row[i].want,
                    (unsigned long long)row[i].got);
    fputc('\n', stderr);
}

struct comparison compare_all(unsigned show) {
    struct comparison sum = {0};
    static struct program program;
    static unsigned words[MEMORY_WORDS];
    unsigned *out, *in, *result;
    if (cudaMalloc((void **)&out, sizeof words) || cudaMalloc((void **)&in, sizeof words) ||
        cudaMalloc((void **)&result, RESULTS * sizeof *result))
        abort();
    for (unsigned i = 0; i < MEMORY_WORDS; i++) words[i] = memory_word(i);
    cudaMemcpy(in, words, sizeof words, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof words);
    for (unsigned t = 0; t < table_count; t++) {
        for (unsigned i = 0; i < tables[t].count; i++) {
            struct counts want;
            program_make(&program, tables[t].first + i);
            program_run(&program, &want);
            struct counts got = measured(tables[t].run[i], out, in, result);
            bool requests = want.load_requests != got.load_requests || want.store_requests != got.store_requests ||
                            want.atomic_requests != got.atomic_requests;
            bool sectors = want.load_sectors != got.load_sectors || want.store_sectors != got.store_sectors ||
                           want.load_bytes != got.load_bytes || want.store_bytes != got.store_bytes ||
                           want.atomic_sectors != got.atomic_sectors || want.atomic_bytes != got.atomic_bytes;
            bool shared = want.shared_load_requests != got.shared_load_requests ||
                          want.shared_store_requests != got.shared_store_requests ||
                          want.shared_atomic_requests != got.shared_atomic_requests ||
                          want.bank_conflicts != got.bank_conflicts;
            bool syncs = want.syncs != got.syncs || want.shuffles != got.shuffles;
            bool results = want.result != got.result;
            sum.kernels++;
            sum.wrong_requests += requests;
            sum.wrong_sectors += sectors;
            sum.wrong_shared += shared;
            sum.wrong_syncs += syncs;
            sum.wrong_results += results;
            sum.requests +=
                want.load_requests + want.store_requests + want.shared_load_requests + want.shared_store_requests;
            if (requests || sectors || shared || syncs || results) {
                if (sum.wrong++ < show) describe(program.seed, &want, &got);
            }
        }
    }
    cudaFree(out);
    cudaFree(in);
    cudaFree(result);
    return sum;
}

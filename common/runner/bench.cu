/* bench.cu — main() of NAME.bench: a lab file's ladders on this GPU, rung by rung, against the best copy of the same
 * footprint in the same run. Prints a table and appends JSON lines. It times; the grader checks (./grader).
 *
 * Batches of the op and of the copy alternate, so that both run at the same clocks. The result is the median of copy
 * time / op time over the pairs.
 */
#include <algorithm>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_options.h"
#include "timing.h"

enum { MAX_SAMPLES = 64, MAX_RUNGS = 32 };

namespace {

struct machine {
    char gpu[256], command[1024], date[32];
    int driver, runtime; /* CUDA versions, 1000 * major + 10 * minor */
    double sm_MHz;
};

struct quartiles {
    double low, median, high;
};

double at_fraction(const double *sorted, int count, double fraction) {
    double place = fraction * (count - 1);
    int below = (int)place;
    return below + 1 < count ? sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]) : sorted[below];
}

quartiles quartiles_of(const double *values, int count) {
    double sorted[MAX_SAMPLES];
    std::copy(values, values + count, sorted);
    std::sort(sorted, sorted + count);
    return {at_fraction(sorted, count, 0.25), at_fraction(sorted, count, 0.5), at_fraction(sorted, count, 0.75)};
}

bool describe_machine(machine *m, int argc, char **argv) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
        fprintf(stderr, "bench: no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return false;
    }
    snprintf(m->gpu, sizeof m->gpu, "%s", properties.name);
    cudaDriverGetVersion(&m->driver);
    cudaRuntimeGetVersion(&m->runtime);
    time_t now = time(nullptr);
    strftime(m->date, sizeof m->date, "%Y-%m-%d", gmtime(&now));
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof m->command; i++) {
        const char *slash = i == 0 ? strrchr(argv[0], '/') : nullptr; /* the program's name, without folders */
        used += (size_t)snprintf(m->command + used, sizeof m->command - used, "%s%s", i ? " " : "",
                                 slash ? slash + 1 : argv[i]);
    }
    for (char *p = m->command; *p; p++) { *p = *p == '"' || *p == '\\' || *p < ' ' ? '?' : *p; }
    return true;
}

/* The driver's version as nvidia-smi shows it ("580.159.04"), or "". */
void driver_version(char *text, size_t size) {
    text[0] = '\0';
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    char line[256] = "";
    if (f && fgets(line, sizeof line, f)) {
        for (char *word = strtok(line, " \n"); word; word = strtok(nullptr, " \n")) {
            if (word[0] >= '1' && word[0] <= '9' && strchr(word, '.')) {
                snprintf(text, size, "%.*s", (int)strspn(word, "0123456789."), word);
                break;
            }
        }
    }
    if (f) { fclose(f); }
}

struct figure {
    quartiles op_us, copy_us, fraction;
    int samples;
};

int measure(timing *t, int samples, figure *f) {
    double op_us[MAX_SAMPLES], copy_us[MAX_SAMPLES], fraction[MAX_SAMPLES];
    double ignored;
    if (int error = timing_copy(t, &ignored)) { return error; }
    for (int i = 0; i < samples; i++) {
        if (int error = timing_prepare(t, (uint64_t)i + 1)) { return error; }
        if (int error = timing_op(t, &op_us[i])) { return error; }
        if (int error = timing_copy(t, &copy_us[i])) { return error; }
        fraction[i] = copy_us[i] / op_us[i];
    }
    *f = {quartiles_of(op_us, samples), quartiles_of(copy_us, samples), quartiles_of(fraction, samples), samples};
    return 0;
}

void print_figure(const timing *t, const figure &f) {
    double bytes = op_floor_bytes(t->op, &t->sizes);
    printf("%-28s %-4s %4d %7d %6d %10.2f %10.2f %8.1f %7.1f %%%s\n", t->op->name, op_type_name(t->sizes.type), t->rung,
           t->sizes.N, t->sizes.C, f.op_us.median, f.copy_us.median, bytes / f.op_us.median * 1e-3,
           100 * f.fraction.median, t->op_batch.graph ? "" : "  (direct launches)");
    fflush(stdout);
}

void append_json(FILE *file, const machine &m, const timing *t, const figure &f) {
    char driver[64], copy[64], matrices[128] = "";
    driver_version(driver, sizeof driver);
    copy_describe(t->copy_variant, t->reads, t->writes, copy, sizeof copy);
    if (op_is_on_matrices(t->op)) {
        snprintf(matrices, sizeof matrices, "\"B\": %d, \"H\": %d, \"T\": %d, \"upper\": \"%s\", ", t->sizes.B,
                 t->sizes.H, t->sizes.T, t->sizes.upper ? "keep" : "zero");
    }
    fprintf(file,
            "{\"op\": \"%s\", \"rung\": %d, \"N\": %d, \"C\": %d, \"type\": \"%s\", %s"
            "\"us\": %.3f, \"us_low\": %.3f, \"us_high\": %.3f, "
            "\"copy_us\": %.3f, \"copy_us_low\": %.3f, \"copy_us_high\": %.3f, "
            "\"fraction\": %.4f, \"fraction_low\": %.4f, \"fraction_high\": %.4f, "
            "\"floor_bytes\": %zu, \"samples\": %d, \"launches\": %d, \"sets\": %d, \"graph\": %s, \"copy\": \"%s\", "
            "\"gpu\": \"%s\", \"driver\": \"%s\", \"cuda\": \"%d.%d\", \"date\": \"%s\", \"command\": \"%s\"}\n",
            t->op->name, t->rung, t->sizes.N, t->sizes.C, op_type_name(t->sizes.type), matrices, f.op_us.median,
            f.op_us.low, f.op_us.high, f.copy_us.median, f.copy_us.low, f.copy_us.high, f.fraction.median,
            f.fraction.low, f.fraction.high, op_floor_bytes(t->op, &t->sizes), f.samples, t->op_batch.launches, t->sets,
            t->op_batch.graph ? "true" : "false", copy, m.gpu, driver, m.runtime / 1000, m.runtime % 1000 / 10, m.date,
            m.command);
    fflush(file);
}

/* All rungs of one op at one size; a file without a ladder has only rung 0, the launcher. */
int bench_size(const op *op, const op_sizes &sizes, const bench_options &options, const machine &m, FILE *json) {
    timing t;
    int first = options.rung >= 0 ? options.rung : launcher_find(op->name, sizes.type, 1) ? 1 : 0;
    int error = timing_open(&t, op, &sizes, 0);
    for (int rung = first; !error && rung < MAX_RUNGS; rung++) {
        error = timing_set_rung(&t, rung, 0);
        if (error == cudaErrorInvalidValue && rung > first) { /* past the last rung */
            error = 0;
            cudaGetLastError();
            break;
        }
        figure f;
        if (!error) { error = measure(&t, options.samples, &f); }
        if (error) { break; }
        print_figure(&t, f);
        if (json) { append_json(json, m, &t, f); }
        if (first == 0 || options.rung >= 0) { break; }
    }
    if (error) {
        fprintf(stderr, "bench: %s_%s, N = %d, C = %d: %s\n", op->name, op_type_name(sizes.type), sizes.N, sizes.C,
                cudaGetErrorString((cudaError_t)error));
    }
    timing_close(&t);
    return error;
}

/* Every size of the options, for this op. */
int sizes_of(const op *op, const bench_options &options, op_type type, op_sizes *sizes) {
    int count = 0;
    if (op_is_on_matrices(op)) {
        for (int i = 0; i < options.BHT_count; i++) {
            sizes[count] = op_causal_sizes(type, options.B[i], options.H[i], options.T[i], 0.125f);
            sizes[count++].upper = options.upper;
        }
        return count;
    }
    for (int n = 0; n < options.N_count; n++) {
        for (int c = 0; c < options.C_count; c++) {
            sizes[count] = {};
            sizes[count].N = options.N[n];
            sizes[count].C = options.C[c];
            sizes[count].eps = 1e-5f;
            sizes[count++].type = type;
        }
    }
    return count;
}

} // namespace

int main(int argc, char **argv) {
    bench_options options;
    if (int stop = bench_options_read(&options, argc, argv)) { return stop - 1; }
    machine m = {};
    if (!describe_machine(&m, argc, argv)) { return 2; }
    FILE *json = options.json ? fopen(options.json, "a") : nullptr;
    if (options.json && !json) {
        fprintf(stderr, "bench: cannot write %s\n", options.json);
        return 2;
    }
    printf("%s\n%-28s %-4s %4s %7s %6s %10s %10s %8s %9s\n", m.gpu, "op", "type", "rung", "N", "C", "us", "copy us",
           "GB/s", "of copy");
    int failed = 0, measured = 0;
    for (int k = 0; ops[k]; k++) {
        const op *op = ops[k];
        for (int type = 0; type < OP_TYPES; type++) {
            op_sizes sizes[BENCH_MAX_SIZES * BENCH_MAX_SIZES];
            bool wanted = !options.op || strcmp(options.op, op->name) == 0;
            if (!wanted || !(options.types >> type & 1) || !launcher_find(op->name, (op_type)type, 0)) { continue; }
            int count = sizes_of(op, options, (op_type)type, sizes);
            for (int i = 0; i < count; i++) { failed |= bench_size(op, sizes[i], options, m, json) != 0; }
            measured += count;
        }
    }
    if (json) { fclose(json); }
    if (!measured) { fprintf(stderr, "bench: this file defines no such op\n"); }
    return failed || !measured ? 2 : 0;
}

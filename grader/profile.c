#include "profile.h"

static const double bandwidth = 320e9, flops_per_second = 0.70 * 8.1e12;

#define LAYERS 12.0
#define HEADS  12.0
#define T      1024.0
#define C      768.0
#define WORDS  50257.0
#define FLOAT  4.0

const struct profile_row profile[PROFILE_ROWS] = {
    {"matrix products", 12 * 4 + 1, 0.0, 1.0, 2.0 * T *(LAYERS * 12.0 * C * C + C * WORDS)},
    {"attention products", 12 * 2, 0.0, 1.0, LAYERS * 2.0 * 2.0 * T *T *C},
    {"softmax", 12, LAYERS *HEADS * 2.0 * T *T *FLOAT, 16.0, 0.0},
    {"LayerNorm", 25, 25.0 * 2.0 * T *C *FLOAT, 16.0, 0.0},
    {"residual add", 24, 24.0 * 3.0 * T *C *FLOAT, 1.0, 0.0},
    {"GELU", 12, LAYERS * 2.0 * T * 4.0 * C *FLOAT, 1.0, 0.0},
};

double profile_ms(const struct profile_row *row, double factor) {
    return 1e3 * (row->floor_bytes * factor / bandwidth + row->flops / flops_per_second);
}

double profile_naive_ms(void) {
    double sum = 0.0;
    for (int i = 0; i < PROFILE_ROWS; i++) { sum += profile_ms(&profile[i], profile[i].naive_factor); }
    return sum;
}

double profile_speedup(const double factors[PROFILE_ROWS]) {
    double sum = 0.0;
    for (int i = 0; i < PROFILE_ROWS; i++) {
        sum += profile_ms(&profile[i], factors[i] > 0.0 ? factors[i] : profile[i].naive_factor);
    }
    return profile_naive_ms() / sum;
}

void profile_print(FILE *out) {
    double whole = profile_naive_ms();
    fprintf(out, "GPT-2 small, forward, 1 x 1024 tokens, fp32, built from naive kernels (one thread per row).\n");
    fprintf(
        out,
        "Computed from shapes, not measured: a nominal GPU of 320 GB/s and 8.1 TFLOP/s (matrix products at 70 %%),\n");
    fprintf(out, "memory traffic in sectors of 32 bytes, no cache helping.\n\n");
    fprintf(out, "  %-20s %9s %12s %12s %10s %8s\n", "", "launches", "floor MB", "naive MB", "naive ms", "share");
    for (int i = 0; i < PROFILE_ROWS; i++) {
        const struct profile_row *row = &profile[i];
        double ms = profile_ms(row, row->naive_factor);
        fprintf(out, "  %-20s %9d", row->name, row->launches);
        if (row->floor_bytes > 0.0) {
            fprintf(out, " %12.1f %12.1f", row->floor_bytes / 1e6, row->floor_bytes * row->naive_factor / 1e6);
        } else {
            fprintf(out, " %12s %9.1f GF", "", row->flops / 1e9);
        }
        fprintf(out, " %10.2f %7.1f%%\n", ms, 100.0 * ms / whole);
    }
    fprintf(out, "  %-20s %9s %12s %12s %10.2f %8s\n\n", "whole", "", "", "", whole, "100.0%");
}

/* bench_figures.c — the figures of gpt2 bench: energy, quantiles, the rows of the table and the lines of JSON (bench.h). */
#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpt2/formats/codes.h"

/* ---- energy. The functions' types are those of nvml.h. ---- */

static struct {
    bool tried;
    void *device;
    int (*total)(void *device, unsigned long long *millijoules); /* nvmlDeviceGetTotalEnergyConsumption */
} nvml;

/* POSIX allows a pointer from dlsym to point to a function. */
static void find(void *library, const char *name, void *function) {
    *(void **)function = dlsym(library, name);
}

/* The environment variable GPT2_NVML names another library instead. */
static void start(void) {
    int (*init)(void) = NULL, (*device)(unsigned, void **) = NULL;
    const char *path = getenv("GPT2_NVML");
    nvml.tried = true;
    void *library = dlopen(path != NULL ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { return; }
    find(library, "nvmlInit_v2", &init);
    find(library, "nvmlDeviceGetHandleByIndex_v2", &device);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.total);
    if (init == NULL || device == NULL || nvml.total == NULL || init() != 0 || device(0, &nvml.device) != 0) {
        nvml.total = NULL;
    }
}

bool energy_read(double *joules) {
    unsigned long long millijoules;
    if (!nvml.tried) { start(); }
    if (nvml.total == NULL || nvml.total(nvml.device, &millijoules) != 0) { return false; }
    *joules = (double)millijoules / 1e3;
    return true;
}

/* ---- quantiles ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, int count, double p) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    double place = p * (count - 1), below = floor(place);
    int first = (int)below, second = first + 1 < count ? first + 1 : first;
    return values[first] + (place - below) * (values[second] - values[first]);
}

/* ---- the table and the lines of JSON ---- */

void bench_print_head(FILE *to, const struct options *options, const struct gpt2_device_info *device) {
    fprintf(to, "%s, kernels %s, %s\n", device->name, options->kernels,
            options->model != NULL ? options->model : "synthetic weights");
    if (options->temperature > 0.0) {
        fprintf(to, "Tokens are drawn: temperature %g, top-k %d, top-p %g, min-p %g.\n", options->temperature,
                options->top_k, options->top_p, options->min_p);
    }
    if (device->is_cpu) {
        fprintf(
            to,
            "CPU backend: wall time of this machine, which says nothing about a GPU; device memory is host memory.\n");
    }
    fprintf(to, "ms: of a decoding step, or of all prompts. GB/s: bytes of weights and cache that a step reads, over "
                "its time.\n\n");
    fprintf(to, "%-6s %-5s %-7s %5s %6s %-10s %10s %10s %10s %12s %10s %8s %13s\n", "size", "type", "what", "batch",
            "tokens", "form", "ms p5", "p50", "p95", "tokens/s", "MB", "GB/s", "tokens/joule");
}

void bench_print_row(FILE *to, const struct cell *cell, const struct figures *f) {
    char rate[32] = "", energy[32] = "not available";
    fprintf(to, "%-6s %-5s %-7s %5d %6d ", cell->size, cell->type_name, cell->decodes ? "decode" : "prompt",
            cell->batch, cell->tokens);
    if (f->reason[0] != '\0') {
        fprintf(to, "  not measured: %s\n", f->reason);
        fflush(to);
        return;
    }
    if (cell->decodes) { snprintf(rate, sizeof rate, "%.1f", f->gb_per_s); }
    if (f->tokens_per_joule >= 0) { snprintf(energy, sizeof energy, "%.2f", f->tokens_per_joule); }
    fprintf(to, "%-10s %10.3f %10.3f %10.3f %12.1f %10.1f %8s %13s\n", cell->decodes ? form_name(f->form) : "",
            1e3 * f->p5, 1e3 * f->p50, 1e3 * f->p95, f->tokens_per_s, f->bytes / 1e6, rate, energy);
    fflush(to);
}

/* Of drawn tokens; a record without it is of the likeliest ones. */
static bool add_sampling(cJSON *line, const struct options *options) {
    cJSON *sampling = cJSON_AddObjectToObject(line, "sampling");
    return sampling != NULL && cJSON_AddNumberToObject(sampling, "temperature", options->temperature) &&
           cJSON_AddNumberToObject(sampling, "top_k", options->top_k) &&
           cJSON_AddNumberToObject(sampling, "top_p", options->top_p) &&
           cJSON_AddNumberToObject(sampling, "min_p", options->min_p);
}

static bool add_figures(cJSON *line, const struct cell *cell, const struct figures *f) {
    if (f->reason[0] != '\0') {
        return cJSON_AddStringToObject(line, "not_measured", f->reason) != NULL &&
               cJSON_AddBoolToObject(line, "failed", f->failed) != NULL;
    }
    bool good =
        cJSON_AddNumberToObject(line, "ms_p5", 1e3 * f->p5) && cJSON_AddNumberToObject(line, "ms_p50", 1e3 * f->p50) &&
        cJSON_AddNumberToObject(line, "ms_p95", 1e3 * f->p95) && cJSON_AddNumberToObject(line, "samples", f->samples) &&
        cJSON_AddNumberToObject(line, "cpu_ms", f->cpu_ms) &&
        cJSON_AddNumberToObject(line, "tokens_per_s", f->tokens_per_s) &&
        cJSON_AddNumberToObject(line, "bytes", f->bytes) &&
        cJSON_AddStringToObject(line, "activations", f->activations ? gpt2_scheme_name(cell->scheme) : cell->type_name);
    if (good && cell->decodes) {
        good = cJSON_AddNumberToObject(line, "bytes_read", cell_bytes(cell)) &&
               cJSON_AddNumberToObject(line, "gb_per_s", f->gb_per_s) &&
               cJSON_AddStringToObject(line, "form", form_name(f->form));
    }
    return good &&
           (f->tokens_per_joule < 0 ? cJSON_AddNullToObject(line, "tokens_per_joule")
                                    : cJSON_AddNumberToObject(line, "tokens_per_joule", f->tokens_per_joule)) != NULL;
}

char *bench_json(const struct cell *cell, const struct figures *figures, const struct options *options,
                 const struct gpt2_device_info *device) {
    cJSON *line = cJSON_CreateObject();
    bool good =
        line != NULL && cJSON_AddStringToObject(line, "by", "ours") &&
        cJSON_AddStringToObject(line, "size", cell->size) && cJSON_AddStringToObject(line, "type", cell->type_name) &&
        cJSON_AddStringToObject(line, "what", cell->decodes ? "decode" : "prompt") &&
        cJSON_AddNumberToObject(line, "batch", cell->batch) && cJSON_AddNumberToObject(line, "tokens", cell->tokens) &&
        add_figures(line, cell, figures) && cJSON_AddStringToObject(line, "device", device->name) &&
        cJSON_AddBoolToObject(line, "cpu", device->is_cpu) &&
        cJSON_AddStringToObject(line, "kernels", options->kernels) &&
        cJSON_AddStringToObject(line, "attention", options->attention) &&
        cJSON_AddStringToObject(line, "decode", options->decode) &&
        cJSON_AddStringToObject(line, "weights",
                                cell->scheme != GPT2_PLAIN ? gpt2_scheme_name(cell->scheme) : cell->type_name) &&
        cJSON_AddBoolToObject(line, "synthetic", options->model == NULL) &&
        cJSON_AddNumberToObject(line, "seed", (double)options->seed) &&
        (!cell->decodes || options->temperature == 0.0 || add_sampling(line, options)) &&
        (options->gpus <= 1 || cJSON_AddNumberToObject(line, "gpus", (double)options->gpus));
    char *text = good ? cJSON_PrintUnformatted(line) : NULL;
    cJSON_Delete(line);
    return text;
}

/* progress.c — a line of progress on a terminal (progress.h). */
#define _GNU_SOURCE
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_DRAWN   0.5 /* s after the beginning */
#define BETWEEN_DRAWN 0.1

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, const char *unit, double total, bool quiet) {
    *progress = (struct progress){.what = what, .unit = unit, .total = total, .began = seconds()};
    progress->width = quiet || total <= 0.0 ? 0 : terminal_width(STDERR_FILENO);
    progress->on = progress->width > 0;
}

void progress_at(struct progress *progress, double done) {
    double now = progress->on ? seconds() : 0.0, elapsed = now - progress->began;
    if (!progress->on || elapsed < FIRST_DRAWN || now - progress->drawn < BETWEEN_DRAWN || done <= 0.0) { return; }
    if (done > progress->total) { done = progress->total; }
    char left[40], line[200];
    time_text(elapsed * (progress->total - done) / done, left, sizeof left);
    snprintf(line, sizeof line, "%s: %.0f of %.0f %s, %.0f %%, %s left", progress->what, (double)(long)done,
             progress->total, progress->unit, 100.0 * done / progress->total, left);
    fprintf(stderr, "\r\033[K%.*s", progress->width - 1, line);
    progress->drawn = now;
    progress->shown = true;
}

void progress_end(struct progress *progress) {
    if (progress->shown) { fputs("\r\033[K", stderr); }
    progress->shown = progress->on = false;
}

/* ---- passes of the model ---- */

static void stage_ends(void *context, const char *stage, int layer) {
    struct progress *progress = context;
    (void)stage;
    progress_at(progress, progress->before + progress->share * (layer + 1) / (progress->layers + 2));
}

void progress_of_pass(struct progress *progress, struct gpt2_model *model, double before, double share) {
    struct gpt2_device_info device;
    if (!progress->on) { return; }
    progress->before = before;
    progress->share = share;
    progress->layers = gpt2_model_config(model)->layers;
    if (gpt2_device_ask(&device, NULL) && device.is_cpu) { gpt2_listen(model, stage_ends, progress); }
}

void progress_pass_end(struct progress *progress, struct gpt2_model *model) {
    if (progress->on) { gpt2_listen(model, NULL, NULL); }
}

/* ---- weights ---- */

static bool read_counted(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    struct counted_source *counted = context;
    if (!counted->from.read(counted->from.context, tensor, layer, type, layout, out, error)) { return false; }
    counted->read += (double)gpt2_tensor_elements(&counted->from.config, tensor) / 1e6;
    progress_at(counted->progress, counted->read);
    return true;
}

static bool codes_counted(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                          struct gpt2_error *error) {
    struct counted_source *counted = context;
    if (!counted->from.read_codes(counted->from.context, tensor, layer, codes, scales, error)) { return false; }
    counted->read += (double)gpt2_tensor_elements(&counted->from.config, tensor) / 1e6;
    progress_at(counted->progress, counted->read);
    return true;
}

struct gpt2_source progress_source(struct counted_source *counted, const struct gpt2_source *from,
                                   struct progress *progress) {
    *counted = (struct counted_source){.from = *from, .progress = progress};
    struct gpt2_source source = *from;
    source.read = read_counted;
    if (from->read_codes != NULL) { source.read_codes = codes_counted; }
    source.context = counted;
    return source;
}

double progress_source_total(const struct gpt2_config *config) {
    return (double)gpt2_config_weights(config, config->vocabulary) / 1e6;
}

/* train_report.c — the output of gpt2 train: a line for each step, overwritten on a terminal (train.h). */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "train.h"

/* Operations a second of dense products in f32, tf32 and bf16, from NVIDIA's data sheets, by the beginning of the device's
 * name. */
static const struct {
    const char *device;
    double f32, tf32, bf16;
} peaks[] = {
    {"NVIDIA H200", 67e12, 494.5e12, 989e12}, {"NVIDIA H100 PCIe", 51e12, 378e12, 756e12},
    {"NVIDIA H100", 67e12, 494.5e12, 989e12}, {"NVIDIA A100", 19.5e12, 156e12, 312e12},
    {"NVIDIA L40S", 91.6e12, 183e12, 362e12}, {"NVIDIA L4", 30.3e12, 60e12, 121e12},
    {"NVIDIA A10", 31.2e12, 62.5e12, 125e12},
};

void train_report_start(struct train_report *report, const struct gpt2_config *config, const char *type,
                        const char *device, int T, long steps) {
    const double C = config->channels, L = config->layers;
    *report = (struct train_report){.width = terminal_width(STDOUT_FILENO), .steps = steps};
    report->flops = 6.0 * (12.0 * L * C * C + config->vocabulary * C) + 12.0 * L * C * T;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        size_t length = strlen(peaks[i].device); /* "NVIDIA A10" is neither "NVIDIA A100" nor "NVIDIA A10G" */
        if (strncmp(device, peaks[i].device, length) != 0 || isalnum((unsigned char)device[length])) { continue; }
        report->peak = strcmp(type, "bf16") == 0   ? peaks[i].bf16
                       : strcmp(type, "tf32") == 0 ? peaks[i].tf32
                                                   : peaks[i].f32;
        break;
    }
}

void train_report_step(struct train_report *report, long step, double loss, double rate, double norm,
                       double tokens_per_second) {
    char line[200];
    if (report->silent) { return; }
    int used = snprintf(line, sizeof line, "step %ld/%ld  loss %.4f  lr %.3e  norm %.4f  %.0f tok/s", step,
                        report->steps, loss, rate, norm, tokens_per_second);
    if (report->peak > 0.0) {
        snprintf(line + used, sizeof line - (size_t)used, "  MFU %.1f%%",
                 100.0 * report->flops * tokens_per_second / report->peak);
    }
    if (report->steps_done++ == 0) { report->began = seconds(); } /* the first step also chooses algorithms */
    if (report->width > 0) {
        long timed = report->steps_done - 1; /* with their measurements and checkpoints */
        char left[40];
        time_text((seconds() - report->began) / (double)(timed > 0 ? timed : 1) * (double)(report->steps - step), left,
                  sizeof left);
        if (timed > 0) { snprintf(line + strlen(line), sizeof line - strlen(line), "  %s left", left); }
        printf("\r\033[K%.*s", report->width - 1, line);
    } else {
        printf("%s\n", line);
    }
    report->open = report->width > 0;
    fflush(stdout);
}

void train_report_line(struct train_report *report, const char *format, ...) {
    va_list arguments;
    if (report->silent) { return; }
    if (report->open) { printf("\n"); }
    report->open = false;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

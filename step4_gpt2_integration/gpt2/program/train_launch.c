/* train_launch.c — starts the ranks of gpt2 train --gpus N (train_launch.h). */
#define _GNU_SOURCE
#include "train_launch.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpt2/train/collective.h"

bool train_launch(const struct train_options *options, int count, char **words, struct gpt2_error *error) {
    const int launched = gpt2_collective_launched(), devices = gpt2_collective_devices();
    const long N = options->gpus;
    if (N == 1 || N == launched) { return true; }
    if (launched > 1) {
        return gpt2_fail(error, "--gpus %ld: a launcher has started %d processes already; omit the option", N,
                         launched);
    }
    if (devices == 0) {
        fprintf(stderr, "gpt2: the CPU backend has no GPUs; in their place %ld processes share its cores\n", N);
    } else if (N > devices) {
        return gpt2_fail(error, "--gpus %ld: this machine has %d", N, devices);
    }
    /* mpirun requires ssh or what stands in for it, although it starts nothing on another machine. */
    setenv("OMPI_MCA_plm_rsh_agent", "/bin/sh", 0);
    char number[24], self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char **line = calloc((size_t)count + 10, sizeof *line);
    if (line == NULL || length < 0) {
        free(line);
        return gpt2_fail(error, "--gpus %ld: %s", N, strerror(errno));
    }
    self[length] = '\0';
    snprintf(number, sizeof number, "%ld", N);
    int used = 0;
    line[used++] = "mpirun";
    if (geteuid() == 0) { line[used++] = "--allow-run-as-root"; } /* as this process is: in a container */
    line[used++] = "--bind-to", line[used++] = "none";
    line[used++] = "--oversubscribe"; /* a rank waits for its GPU: it needs no core of its own */
    line[used++] = "-n", line[used++] = number;
    line[used++] = self;
    for (int i = 0; i < count; i++) { line[used++] = words[i]; }
    line[used] = NULL;
    execvp(line[0], (char **)(uintptr_t)line);
    gpt2_fail(error, "--gpus %ld: mpirun cannot be started: %s (tools/install.sh ranks installs it)", N,
              strerror(errno));
    free(line);
    return false;
}

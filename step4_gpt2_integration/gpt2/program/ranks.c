/* ranks.c — starts ranks, and divides a model among them (ranks.h). */
#define _GNU_SOURCE
#include "ranks.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ranks_launch(long gpus, int count, char **words, struct gpt2_error *error) {
    const int launched = gpt2_collective_launched(), devices = gpt2_collective_devices();
    if (gpus == 1 || gpus == launched) { return true; }
    if (launched > 1) {
        return gpt2_fail(error, "--gpus %ld: a launcher has started %d processes already; omit the option", gpus,
                         launched);
    }
    if (devices == 0) {
        fprintf(stderr, "gpt2: the CPU backend has no GPUs; in their place %ld processes share its cores\n", gpus);
    } else if (gpus > devices) {
        return gpt2_fail(error, "--gpus %ld: this machine has %d", gpus, devices);
    }
    /* mpirun requires ssh or what stands in for it, although it starts nothing on another machine. */
    setenv("OMPI_MCA_plm_rsh_agent", "/bin/sh", 0);
    char number[24], self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char **line = calloc((size_t)count + 10, sizeof *line);
    if (line == NULL || length < 0) {
        free(line);
        return gpt2_fail(error, "--gpus %ld: %s", gpus, strerror(errno));
    }
    self[length] = '\0';
    snprintf(number, sizeof number, "%ld", gpus);
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
    gpt2_fail(error, "--gpus %ld: mpirun cannot be started: %s (tools/install.sh ranks installs it)", gpus,
              strerror(errno));
    free(line);
    return false;
}

bool ranks_open(struct gpt2_collective *group, bool good, struct options *options, struct gpt2_error *error) {
    struct gpt2_error unjoined = {""};
    good = good && ranks_launch(options->gpus, options->word_count, options->words, error);
    if (!gpt2_collective_open(group, &unjoined)) {
        *error = unjoined;
        group->rank = unjoined.text[0] == '\0'; /* for ranks_close: another process has the message */
        return false;
    }
    if (group->rank > 0) {
        options->quiet = true, options->json_file = NULL;
        good = good && (freopen("/dev/null", "w", stdout) != NULL || gpt2_fail(error, "/dev/null is missing"));
    }
    options->gpus = group->ranks;
    return gpt2_collective_agree(group, good, NULL, error) && gpt2_collective_use_device(group, error);
}

int ranks_close(struct gpt2_collective *group, bool good, struct gpt2_error *error) {
    const bool first = group->rank == 0;
    if (!first) { error->text[0] = '\0'; }
    gpt2_collective_close(group);
    return good || !first ? 0 : 2;
}

/* ---- a divided model ---- */

static void sum(void *context, void *x, int64_t count, enum gpt2_type type, void *stream) {
    struct gpt2_collective *group = context;
    struct gpt2_error error;
    if (!group->arrays->sum(group->state, x, count, type, stream, &error)) { gpt2_collective_abort(group, &error); }
}

static void wait_for(void *context, void *stream) {
    struct gpt2_collective *group = context;
    struct gpt2_error error;
    if (!group->arrays->wait(group->state, stream, &error)) { gpt2_collective_abort(group, &error); }
}

const struct gpt2_division *ranks_division(struct gpt2_division *division, struct gpt2_collective *group) {
    if (group->ranks == 1) { return NULL; }
    *division = (struct gpt2_division){.rank = group->rank,
                                       .ranks = group->ranks,
                                       .recorded = group->arrays->sum_is_recorded,
                                       .sum = sum,
                                       .wait = wait_for,
                                       .context = group};
    return division;
}

bool ranks_passed(const struct gpt2_collective *group, bool good, const struct gpt2_error *error) {
    if (!good && group->ranks > 1) { gpt2_collective_abort(group, error); }
    return good;
}

bool ranks_agree_on(const struct gpt2_collective *group, const int32_t *tokens, int count, struct gpt2_error *error) {
    static const char *const names[] = {"the tokens"};
    uint64_t hash = 0;
    for (int i = 0; i < count; i++) { hash = gpt2_mix(hash ^ (uint64_t)(uint32_t)tokens[i]); }
    return group->ranks == 1 || gpt2_collective_same(group, &hash, names, 1, error);
}

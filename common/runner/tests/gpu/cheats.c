/* cheats.c — on a GPU: measures cheats.cu's rungs as the grader does, and checks that honest ways are measured and that none of
 * the others gains anything.
 *
 *   cheats RUNNER      prints a line for each, exit status 1 if one was judged wrongly
 *
 * Beside the figure are the time of making inputs and of the copy, by the grader's clock, as multiples of what they took before
 * the rung first ran, and what a batch of the op and of the copy took longer by the grader's clock than by the events.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "grader/measure.h"
#include "grader/timed.h"

struct way {
    const char *what;
    unsigned allowed; /* verdicts, as bits */
    double at_most;   /* when MEASURE_OK is allowed: the figure, as a multiple of the honest one */
};

#define VERDICT(v) (1u << MEASURE_##v)

static const struct way ways[] = {
    {"works honestly", VERDICT(OK), 1},
    {"works on another stream", VERDICT(OK) | VERDICT(CLOCKS) | VERDICT(INCONCLUSIVE), 1.02},
    {"works on another stream, and waits for it", VERDICT(OK), 1.02},
    {"computes once for each pointer", VERDICT(WRONG_OUTPUT), 0},
    {"computes once for each pointer, in a graph", VERDICT(WRONG_OUTPUT), 0},
    {"computes when the input's first element is new", VERDICT(OK) | VERDICT(WRONG_OUTPUT), 1.02},
    {"leaves out rows", VERDICT(WRONG_OUTPUT) | VERDICT(IMPOSSIBLE), 0},
    {"works only where the output is poisoned", VERDICT(OK), 1.02},
    {"does nothing while it is captured", VERDICT(WRONG_OUTPUT) | VERDICT(IMPOSSIBLE), 0},
    {"works later, from another thread",
     VERDICT(WRONG_OUTPUT) | VERDICT(IMPOSSIBLE) | VERDICT(CLOCKS) | VERDICT(FAILED), 0},
    {"works while the inputs are made", VERDICT(DISTURBED) | VERDICT(CLOCKS) | VERDICT(WRONG_OUTPUT), 0},
    {"slows the copy", VERDICT(DISTURBED) | VERDICT(CLOCKS), 0},
    {"waits in each call", VERDICT(OK), 1.02},
};

static double median(const struct measurement *m, double (*value)(const struct measure_sample *)) {
    double values[MEASURE_MAX_SAMPLES];
    for (int i = 0; i < m->count; i++) { values[i] = value(&m->sample[i]); }
    return measure_quartiles(values, m->count).median;
}
static double prepare(const struct measure_sample *s) {
    return s->prepare_wall_us;
}
static double copy(const struct measure_sample *s) {
    return s->copy_wall_us;
}
static double op_start(const struct measure_sample *s) {
    return s->wall_us - s->op_us * s->launches;
}
static double copy_start(const struct measure_sample *s) {
    return s->copy_wall_us - s->copy_us * s->copy_launches;
}

static bool judge(const char *path, int rung, double *honest) {
    static struct runner runner;
    static struct measurement m;
    static struct result result;
    static const double edges[] = {0.5};
    struct measure_options options = {.op = op_find("residual_forward"),
                                      .rung = rung,
                                      .sizes = {.N = 8192, .C = 1024},
                                      .edges = edges,
                                      .edge_count = 1,
                                      .check = timed_check};
    struct limits limits = limits_default;
    char message[512];
    limits.gpu = true;
    limits.call_seconds = 30;
    if (runner_start(&runner, path, &limits) != CHILD_OK) {
        printf("%s\n", runner.child.message);
        return false;
    }
    memset(&m, 0, sizeof m);
    enum measure_verdict verdict = measure_run(&runner, &options, &m, &result, message, sizeof message);
    double figure = m.count ? measure_fraction(&m).median : 0;
    runner_stop(&runner);
    if (rung == 0) { *honest = figure; }
    bool right = ways[rung].allowed >> verdict & 1 && (verdict != MEASURE_OK || figure <= ways[rung].at_most * *honest);
    printf("%-4s  %s: %s\n", right ? "ok" : "FAIL", ways[rung].what, message);
    if (m.count) {
        printf("      %.2f of a copy; inputs %.2fx %.0f us, copy %.2fx %.0f us; start of the op %.0f us, of the copy "
               "%.0f us\n",
               figure, median(&m, prepare) / m.quiet_prepare_us, m.quiet_prepare_us, median(&m, copy) / m.quiet_copy_us,
               m.quiet_copy_us, median(&m, op_start), median(&m, copy_start));
    }
    fflush(stdout);
    return right;
}

int main(int argc, char **argv) {
    int wrong = 0, count = (int)(sizeof ways / sizeof *ways);
    double honest = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: cheats RUNNER\n");
        return 2;
    }
    for (int i = 0; i < count; i++) { wrong += !judge(argv[1], i, &honest); }
    printf("%d of %d judged rightly\n", count - wrong, count);
    return wrong != 0;
}

/* cheats.c — on a GPU: measures cheats.cu's ops as the grader does and checks that none of them gains anything.
 *
 *   cheats RUNNER      prints a line for each, exit status 1 if one got through
 */
#include <stdbool.h>
#include <stdio.h>

#include "grader/measure.h"
#include "grader/timed.h"

struct cheat {
    const char *op, *what;
    unsigned allowed; /* verdicts, as bits */
    double at_most;   /* when MEASURE_OK is allowed: the figure of honest work, with a margin */
};

#define VERDICT(v) (1u << MEASURE_##v)

static const struct cheat cheats[] = {
    {"bias_add", "works on another stream", VERDICT(OK) | VERDICT(CLOCKS) | VERDICT(INCONCLUSIVE), 1.02},
    {"softmax_forward", "computes once for each pointer", VERDICT(WRONG_OUTPUT), 0},
    {"residual_forward", "leaves out rows", VERDICT(WRONG_OUTPUT) | VERDICT(IMPOSSIBLE), 0},
    {"row_sum", "works only where the output is poisoned", VERDICT(OK), 0.5},
    {"layernorm_forward", "works later, from another thread",
     VERDICT(WRONG_OUTPUT) | VERDICT(IMPOSSIBLE) | VERDICT(CLOCKS) | VERDICT(FAILED), 0},
};

static bool refused(const char *path, const struct cheat *cheat) {
    struct limits limits = limits_default;
    limits.gpu = true;
    limits.call_seconds = 30;
    static const double edges[] = {0.5};
    struct measure_options options = {.op = op_find(cheat->op),
                                      .sizes = {.N = 8192, .C = 1024, .eps = 1e-5f},
                                      .edges = edges,
                                      .edge_count = 1,
                                      .check = timed_check};
    static struct runner runner;
    static struct measurement measurement;
    static struct result result;
    char message[512];
    if (runner_start(&runner, path, &limits) != CHILD_OK) {
        printf("%s\n", runner.child.message);
        return false;
    }
    enum measure_verdict verdict = measure_run(&runner, &options, &measurement, &result, message, sizeof message);
    double figure = measurement.count ? measure_fraction(&measurement).median : 0;
    runner_stop(&runner);
    bool right = cheat->allowed >> verdict & 1 && (verdict != MEASURE_OK || figure <= cheat->at_most);
    printf("%-4s  %s: %s (%s, %.2f of a copy)\n", right ? "ok" : "FAIL", cheat->op, cheat->what, message, figure);
    return right;
}

int main(int argc, char **argv) {
    int through = 0, count = (int)(sizeof cheats / sizeof *cheats);
    if (argc != 2) {
        fprintf(stderr, "usage: cheats RUNNER\n");
        return 2;
    }
    for (int i = 0; i < count; i++) { through += !refused(argv[1], &cheats[i]); }
    printf("%d of %d cheats gained nothing\n", count - through, count);
    return through != 0;
}

/* hostile.c — what untrusted code may try, one mode a threat of the grader. The mode is the first argument or, when a
 * runner is started without arguments, the name under which this program was linked.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "modes.h"

static const char *mode_of(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    return argc > 1 ? argv[1] : slash ? slash + 1 : argv[0];
}

__attribute__((constructor)) static void before_main(int argc, char **argv) {
    if (strcmp(mode_of(argc, argv), "constructor") == 0) { _exit(0); }
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"crash", mode_crash},
    {"abort", mode_abort},
    {"exit0", mode_exit0},
    {"hang", mode_hang},
    {"spin", mode_spin},
    {"deaf", mode_deaf},
    {"slow", mode_slow},
    {"slower", mode_slower},
    {"launching", mode_launching},
    {"flood", mode_flood},
    {"memory", mode_memory},
    {"forks", mode_forks},
    {"close", mode_close},
    {"honest", mode_honest},
    {"sticky", mode_sticky},
    {"garbage", mode_garbage},
    {"forged", mode_forged},
    {"early", mode_early},
    {"huge", mode_huge},
    {"negative", mode_negative},
    {"short", mode_short},
    {"trickle", mode_trickle},
    {"late", mode_late},
    {"unterminated", mode_unterminated},
    {"time_right", mode_time_right},
    {"time_sampled", mode_time_right},
    {"time_zero", mode_time_zero},
    {"time_short", mode_time_short},
    {"time_nan", mode_time_nan},
    {"time_eager", mode_time_eager},
    {"time_no_plan", mode_time_no_plan},
    {"time_long_plan", mode_time_long_plan},
    {"no_launches", mode_no_launches},
    {"probe", mode_probe},
    {"descriptors", mode_descriptors},
};

int main(int argc, char **argv) {
    const char *mode = mode_of(argc, argv);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) == 0) { modes[i].run(); }
    }
    fprintf(stderr, "hostile: no mode %s\n", mode);
    return 99;
}

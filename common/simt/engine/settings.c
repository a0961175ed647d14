/* settings.c — the settings, read from the environment before main(). */
#define _GNU_SOURCE
#include "internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The watchdog's limits are about 40 s of a block's CPU time in the checked build, 20 s in the fast one. */
struct simt_settings simt_settings = {
    .os_threads = 1,
    .compute_capability = 90,
    .watchdog = SIMT_CHECKED ? UINT64_C(5000000000) : UINT64_C(500000000),
};

static long number(const char *name, long least, long most, long otherwise) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0') return otherwise;
    char *end;
    long value = strtol(text, &end, 10);
    return *end != '\0' || value < least || value > most ? otherwise : value;
}

static int cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

__attribute__((constructor(101))) static void read_environment(void) {
    const char *order = getenv("SIMT_ORDER");
    simt_settings.os_threads = (int)number("SIMT_THREADS", 1, 256, cores());
    simt_settings.compute_capability = (int)number("SIMT_CC", 30, 200, simt_settings.compute_capability);
    simt_settings.watchdog = (uint64_t)number("SIMT_WATCHDOG", 1, INT64_MAX, (long)simt_settings.watchdog);
    simt_settings.shuffled_order = order && strcmp(order, "shuffled") == 0;
    simt_settings.quiet = number("SIMT_QUIET", 0, 1, 0) == 1;
    simt_settings.small_device = number("SIMT_SMALL_DEVICE", 0, 1, 0) == 1;
    simt_settings.most_blocks = (uint64_t)number("SIMT_BLOCKS", 0, INT32_MAX, 0);
    simt_settings.spread_blocks = number("SIMT_SPREAD", 0, 1, 0) == 1;
}

void simt_settings_get(struct simt_settings *out) {
    *out = simt_settings;
}

void simt_settings_set(const struct simt_settings *settings) {
    simt_settings = *settings;
    if (simt_settings.os_threads < 1) simt_settings.os_threads = 1;
}

bool simt_is_checked(void) {
    return SIMT_CHECKED;
}

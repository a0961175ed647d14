/* Launches as published programs make them: bounds, kernels behind `void *`, attributes, pools. */
#include "findings.h"

TestSuite(launches, .init = quiet, .timeout = 60);

int run_bounds(void);
Test(launches, more_threads_than_the_launch_bounds) {
    int line = run_bounds();
    cr_assert_eq(line, 0, "line %d", line);
    cr_assert_eq(simt_finding_count(), 3);
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const char *text = simt_finding_at(i)->text;
        cr_assert(strstr(text, "but __launch_bounds__ declares at most"), "%s", text);
    }
}

int run_untyped(void);
Test(launches, kernels_behind_void_pointers) {
    int line = run_untyped();
    cr_assert_eq(line, 0, "line %d", line);
    cr_assert_eq(simt_finding_count(), 1);
    cr_assert(strstr(simt_finding_at(0)->text, "its parameters are unknown"));
}

int run_clusters(void);
Test(launches, clusters_are_refused_by_name) {
    int line = run_clusters();
    cr_assert_eq(line, 0, "line %d", line);
    cr_assert_eq(simt_finding_count(), 1);
    cr_assert(strstr(simt_finding_at(0)->text, "Launch with clusters of 2x1x1 blocks"));
}

int run_dependent(void);
Test(launches, programmatic_dependent_launch) {
    int line = run_dependent();
    cr_assert_eq(line, 0, "line %d", line);
    expect_none();
}

int run_pool(void);
Test(launches, the_default_memory_pool) {
    int line = run_pool();
    cr_assert_eq(line, 0, "line %d", line);
    expect_none();
}

int run_hints(void);
Test(launches, hints_and_old_names) {
    int line = run_hints();
    cr_assert_eq(line, 0, "line %d", line);
    expect_none();
}

uint64_t run_marks(void);
static uint64_t marks(unsigned most, bool spread) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.most_blocks = most, settings.spread_blocks = spread;
    simt_settings_set(&settings);
    return run_marks();
}
Test(launches, some_of_the_blocks) {
    const uint64_t all = ((uint64_t)1 << 33) - 1, last = (uint64_t)1 << 32;
    cr_expect_eq(marks(0, true), all);
    cr_expect_eq(marks(33, true), all);
    cr_expect_eq(marks(5, false), last | last >> 1 | last >> 2 | 3, "the first and the last");
    cr_expect_eq(marks(5, true), last | last >> 8 | last >> 16 | last >> 24 | 1, "at equal distances");
    cr_expect_eq(marks(2, true), last | 1);
}

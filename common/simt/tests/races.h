/* races.h — for tests of the race detector: the order of blocks and lanes, and right programs, which must have no finding. */
#ifndef SIMT_TESTS_RACES_H
#define SIMT_TESTS_RACES_H

#include "findings.h"

static inline void set(bool shuffled, int os_threads) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    settings.shuffled_order = shuffled;
    settings.os_threads = os_threads;
    simt_settings_set(&settings);
    simt_findings_clear();
}

static inline void expect_no_race(void) {
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const struct simt_finding *f = simt_finding_at(i);
        cr_expect(f->kind != SIMT_RACE && f->kind != SIMT_RACE_SAME_VALUE && !f->is_error, "%s", f->text);
    }
}

#define RIGHT(name)                                                      \
    int run_##name(void);                                                \
    Test(no_races, name) {                                               \
        for (int shuffled = 0; shuffled < 2; shuffled++) {               \
            for (int os_threads = 1; os_threads <= 4; os_threads *= 2) { \
                set(shuffled, os_threads);                               \
                cr_assert_eq(run_##name(), 0);                           \
                expect_no_race();                                        \
            }                                                            \
        }                                                                \
    }

#endif

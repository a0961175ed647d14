/* Findings: which, how often, in which order and form. They are the same on every run and with any number of OS threads. */
#define _GNU_SOURCE
#include "findings.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

int run_several(void);
int run_late_first_block(void);
int run_late_race(void);
int run_pairs(void);

TestSuite(findings, .init = quiet, .timeout = 60);

enum { MOST_OS_THREADS = 4, ILLEGAL_ADDRESS = 700 };

static void use(int os_threads, bool is_quiet) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.os_threads = os_threads;
    settings.quiet = is_quiet;
    simt_settings_set(&settings);
}

/* All texts in one string; addresses are equal since every allocation before was the same. */
static void collect(char *text, size_t room) {
    *text = '\0';
    for (size_t i = 0; i < simt_finding_count(); i++) strncat(text, simt_finding_at(i)->text, room - strlen(text) - 1);
}

Test(findings, one_for_each_line_and_kind_of_the_first_thread) {
    cr_assert_eq(run_several(), 0);
    cr_assert_eq(simt_finding_count(), 3);
    const char *marks[] = {"unwritten", "also unwritten", "absent"};
    const enum simt_finding_kind kinds[] = {SIMT_UNINITIALISED, SIMT_UNINITIALISED, SIMT_ABSENT_LANE};
    for (size_t i = 0; i < 3; i++) {
        const struct simt_finding *finding = simt_finding_at(i);
        cr_assert_eq(finding->line, line_of(__FILE__, marks[i]));
        cr_assert_eq(finding->kind, kinds[i]);
        cr_assert_str_eq(finding->kernel, "several(float *, const float *, int)");
        cr_assert(strstr(finding->file, "tests/test_findings.cu"));
        cr_assert(strstr(finding->text, "by thread (0,0,0) in block (0,0,0)\n"), "%s", finding->text);
    }
}

Test(findings, repeated_ones_are_reported_once_until_they_are_cleared) {
    run_several();
    run_several();
    cr_assert_eq(simt_finding_count(), 3);
    simt_findings_clear();
    expect_none();
    run_several();
    cr_assert_eq(simt_finding_count(), 3);
}

Test(findings, equal_with_any_number_of_os_threads) {
    char first[4096], again[4096];
    use(1, true);
    cr_assert_eq(run_late_first_block(), ILLEGAL_ADDRESS);
    collect(first, sizeof first);
    const struct simt_finding *finding = simt_finding_at(0);
    cr_assert(strstr(first, "by thread (0,0,0) in block (0,0,0)"), "%s", first);
    cr_assert_eq(finding->line, line_of(__FILE__, "out of bounds"));
    for (int os_threads = 2; os_threads <= MOST_OS_THREADS; os_threads++)
        for (int repeat = 0; repeat < 5; repeat++) {
            simt_findings_clear();
            use(os_threads, true);
            cr_assert_eq(run_late_first_block(), ILLEGAL_ADDRESS);
            collect(again, sizeof again);
            char *where = strstr(again, "Access to"), *was = strstr(first, "Access to");
            cr_assert(where && was);
            cr_assert(strncmp(first, again, (size_t)(was - first)) == 0, "%s\n%s", first, again);
            cr_assert_eq(simt_finding_count(), 1, "%s", again);
        }
}

Test(findings, races_name_the_first_block_with_any_number_of_os_threads) {
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, true);
        cr_assert_eq(run_late_race(), 0);
        const struct simt_finding *race = find_kind(SIMT_RACE);
        cr_assert_not_null(race);
        cr_expect_eq(race->line, line_of(__FILE__, "late race"));
        cr_expect(strstr(race->text, "in block (0,0,0)\n    and a Read access"), "%d OS threads: %s", os_threads,
                  race->text);
        simt_findings_clear();
    }
}

/* The note of the same value says that the result does not depend on the order; a race on that line says that it does. */
Test(findings, a_race_overrules_the_note_of_its_line) {
    cr_assert_eq(run_pairs(), 0);
    EXPECT_FINDING(SIMT_RACE, true, "pairs", "Write access");
    run_pairs();
    cr_assert_eq(simt_finding_count(), 1);
}

Test(findings, printed_with_bars_as_compute_sanitizer_does) {
    char text[4096] = "", path[] = "/tmp/findings.XXXXXX";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    use(1, false);
    dup2(file, STDERR_FILENO);
    run_several();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    unlink(path);
    cr_assert_gt(pread(file, text, sizeof text - 1, 0), 0);
    char expected[256];
    snprintf(expected, sizeof expected,
             "========= Uninitialized __global__ memory read of size 4 bytes\n"
             "=========     at g(const float *, int) in test_findings.cu:%d\n"
             "=========     called in test_findings.cu:%d\n"
             "=========     by thread (0,0,0) in block (0,0,0)\n",
             line_of(__FILE__, "unwritten"), line_of(__FILE__, "the call"));
    cr_assert(strncmp(text, expected, strlen(expected)) == 0, "%s\n%s", text, expected);
}

static int note_libc(struct dl_phdr_info *file, size_t bytes, void *found) {
    (void)bytes;
    if (strstr(file->dlpi_name, "libc.so")) { *(bool *)found = true; }
    return 0;
}

/* Finding a line leaves out the system's libraries; what throws exceptions needs them. */
Test(findings, other_callers_of_dl_iterate_phdr_see_every_library) {
    bool found = false;
    run_several();
    cr_assert(simt_finding_at(0)->line > 0);
    dl_iterate_phdr(note_libc, &found);
    cr_assert(found);
}
